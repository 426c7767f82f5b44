"""Whatever agents say, in whatever order: no status rises above what evidence gives."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from damascus.domain.critique import Concern, Critique, RequirementStatus, RequirementWord, ReviewStatus
from damascus.domain.receipt import BuildReceipt, RequirementLine
from damascus.domain.receipt_making import AFTER, WORST, ReceiptEvidence, make_receipt
from damascus.domain.requirement_status import MappedTest, RequirementEvidence, RequirementTag
from damascus.domain.run_counts import RunCounts
from damascus.domain.said import Said
from tests.receipts.making import evidence

IDENTS = ("REQ-001", "REQ-002", "REQ-003")
OUTCOMES = ("passed", "failed", "error", "skipped", "xfailed", "xpassed")
ORDER = list(RequirementStatus)
words = st.text("abc <>%\n", max_size=20)

tests = st.builds(
    MappedTest,
    id=st.sampled_from(["t.py::test_a", "t.py::test_b", "t.py::test_c"]),
    outcome=st.sampled_from(OUTCOMES),
    tag=st.sampled_from(RequirementTag),
    negative=st.booleans(),
    red=st.booleans(),
    proves=st.booleans(),
)
needs = st.tuples(
    *(
        st.builds(
            RequirementEvidence,
            id=st.just(ident),
            tag=st.sampled_from(RequirementTag),
            tests=st.lists(tests, max_size=3),
            code=st.sampled_from([[], ["a.py:1-2"]]),
            survivors=st.sampled_from([[], ["a.py:1 lives"]]),
            tests_unmeasured=st.sampled_from(["", "no report"]),
            code_unmeasured=st.sampled_from(["", "no coverage"]),
        )
        for ident in IDENTS
    )
)
critiques = st.builds(
    Critique,
    status=st.sampled_from(ReviewStatus),
    summary=words,
    concerns=st.lists(st.builds(Concern, what=words), max_size=1),
    missing=st.lists(words, max_size=1),
    requirements=st.lists(
        st.builds(RequirementWord, id=st.sampled_from((*IDENTS, "REQ-999")), status=st.sampled_from(RequirementStatus)),
        max_size=3,
    ),
)
claims = st.fixed_dictionaries(
    {},
    optional={
        "passed": st.integers(0, 9),
        "total": st.integers(0, 9) | words,
        "mutation_score": st.floats(0, 100),
        "fr_status": st.dictionaries(st.sampled_from(IDENTS), st.sampled_from([str(one) for one in RequirementStatus])),
    },
)
texts = st.sampled_from(["", "4 passed", "9 passed, 1 failed", "all 6 tests pass", "5 of 7 mutants", "<PYTEST_TOTAL>"])
reports = st.lists(
    st.builds(
        Said,
        step=st.sampled_from(["author_tests", "critique_tests", "critique_code", "fix", "self_review", *AFTER]),
        role=st.sampled_from(["test-critic", "code-critic", "self-reviewer", "reporter"]),
        round=st.integers(1, 3),
        subtask=st.sampled_from(["", "one"]),
        critique=st.none() | critiques,
        claims=claims,
        text=texts,
    ),
    max_size=6,
)
facts = st.fixed_dictionaries(
    {"tests_refused": st.sampled_from([[], ["suite"]]), "code_refused": st.sampled_from([[], ["coverage"]])},
    optional={"run": st.just(RunCounts())},
)


def _with(found: tuple[RequirementEvidence, ...], more: dict[str, Any], said: list[Said]) -> ReceiptEvidence:
    return evidence(*found, said=tuple(said), **more)


def _lines(receipt: BuildReceipt) -> dict[str, RequirementLine]:
    return {line.id: line for line in receipt.requirement_lines}


@pytest.mark.req("F9.3", "F7.1")
@settings(max_examples=300, deadline=None)
@given(needs, facts, reports)
def test_no_sequence_of_reports_raises_anything_above_what_evidence_gives(
    found: tuple[RequirementEvidence, ...], more: dict[str, Any], said: list[Said]
) -> None:
    alone, after = make_receipt(_with(found, more, [])), make_receipt(_with(found, more, said))
    for ident, line in _lines(after).items():
        assert ORDER.index(line.status) >= ORDER.index(_lines(alone)[ident].status)
        assert line.computed is _lines(alone)[ident].computed
    for part in ("tests", "code"):
        assert WORST.index(getattr(after, part).status) >= WORST.index(getattr(alone, part).status)
    assert WORST.index(after.status) >= WORST.index(alone.status)
    assert after.mutation == alone.mutation and after.requirements.touched == alone.requirements.touched
    for name in ("total", "passed", "failed", "xfailed", "xpassed", "skipped"):
        assert getattr(after.tests, name) == getattr(alone.tests, name)
    assert not alone.unproved or after.unproved, "nobody talks a person's question away"


@pytest.mark.req("F9.3")
@settings(max_examples=200, deadline=None)
@given(needs, reports, critiques)
def test_one_more_critic_can_only_lower(
    found: tuple[RequirementEvidence, ...], said: list[Said], one_more: Critique
) -> None:
    more = Said(step="another_critic", role="code-critic", critique=one_more)
    before, after = make_receipt(_with(found, {}, said)), make_receipt(_with(found, {}, [*said, more]))
    for ident, line in _lines(after).items():
        assert ORDER.index(line.status) >= ORDER.index(_lines(before)[ident].status)
    assert WORST.index(after.status) >= WORST.index(before.status)


@pytest.mark.req("F9.3")
@settings(max_examples=200, deadline=None)
@given(needs, reports, st.randoms(use_true_random=False))
def test_the_order_of_reports_does_not_matter(
    found: tuple[RequirementEvidence, ...], said: list[Said], chance: Any
) -> None:
    other = list(said)
    chance.shuffle(other)
    assert make_receipt(_with(found, {}, said)).as_bytes() == make_receipt(_with(found, {}, other)).as_bytes()


@pytest.mark.req("F8.1")
@settings(max_examples=100, deadline=None)
@given(needs, facts, reports)
def test_the_same_evidence_gives_the_same_bytes_and_they_read_back(
    found: tuple[RequirementEvidence, ...], more: dict[str, Any], said: list[Said]
) -> None:
    given_twice = _with(found, more, said)
    again = ReceiptEvidence.model_validate_json(given_twice.model_dump_json())
    first, second = make_receipt(given_twice), make_receipt(again)
    assert first.as_bytes() == second.as_bytes()
    as_a_database_has_it = json.loads(json.dumps(first.model_dump(mode="json"), sort_keys=True))
    assert BuildReceipt.model_validate(as_a_database_has_it).as_bytes() == first.as_bytes()
