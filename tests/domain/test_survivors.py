"""What is told of mutants that live: a score that is never rounded up, marks, and the question about them."""

from dataclasses import replace

import pytest
from hypothesis import given, settings

from damascus.domain import policy, recovery
from damascus.domain.errors import UsageError
from damascus.domain.feedback import VerdictFeedback
from damascus.domain.item import Item
from damascus.domain.outcome import Rejected
from damascus.domain.question_marks import MUTANTS, chosen_marks, marks_of, without_marks
from damascus.domain.survivors import MutationScore, Survivor, partial, question_start
from damascus.domain.verdict import Phase, Verdict
from tests.domain.test_domain_policy import NOW, items


def survivor(mark: str, **more: object) -> Survivor:
    facts = {"path": "a.py", "line": 3, "operator": "`+` → `-`", "by": "mutmut 3.8.0", "mark": mark, **more}
    return Survivor.model_validate(facts)


ONE, TWO = survivor("0" * 16, diff="--- a/a.py\n-1\n+2"), survivor("f" * 16, requirements=["REQ-001"])


@pytest.mark.req("F10.2")
@pytest.mark.parametrize(
    ("killed", "total", "told"),
    [(2499, 2500, "99.9 %"), (2500, 2500, "100.0 %"), (0, 3, "0.0 %"), (2, 3, "66.6 %"), (0, 0, "none")],
)
def test_a_score_is_cut_and_never_rounded(killed: int, total: int, told: str) -> None:
    score = MutationScore(by=["mutmut"], killed=killed, survived=total - killed, total=total)
    assert score.told.endswith(f"noticed: {told}")


@pytest.mark.req("F10.2")
def test_what_was_not_run_is_not_noticed_and_what_does_not_compile_counts_for_nothing() -> None:
    score = MutationScore(by=["x"], killed=1, timed_out=1, unviable=4, not_run=2, total=8)
    assert score.told == (
        "8 of changed lines by x: 1 killed, 1 timed out, 4 do not compile, 2 not run; noticed: 50.0 %"
    )


@pytest.mark.req("F10.3")
def test_marks_are_read_from_the_start_of_a_question_alone() -> None:
    start = question_start([ONE, TWO])
    assert marks_of(f"{start}words: Surviving mutants {'a' * 16}: ", MUTANTS) == ["0" * 16, "f" * 16]
    assert without_marks(f"{start}words") == "words"
    assert marks_of(f"S-1 {start}", MUTANTS) == [] and marks_of("Surviving mutants of mine: ", MUTANTS) == []


@pytest.mark.req("F10.3")
def test_a_requirement_is_partial_by_the_survivors_on_its_path() -> None:
    assert partial([ONE, TWO]) == {"REQ-001": ["a.py:3 `+` → `-`: the tests stay green"]}


@pytest.mark.req("F10.3")
@settings(max_examples=20, deadline=None)
@given(items())
def test_who_is_stopped_by_survivors_is_asked_whether_they_are_equivalent(item: Item) -> None:
    outcome = Rejected(Verdict.MUTANT_SURVIVED, VerdictFeedback(message="mutants live", survivors=[ONE, TWO]))
    moved = policy.decide(replace(item, attempts=item.budget_cycles - 1), outcome, NOW)

    assert moved.phase == Phase.BLOCKED and moved.question is not None
    assert marks_of(moved.question.question, MUTANTS) == [ONE.mark, TWO.mark]
    assert moved.question.question.endswith(
        "\n1. a.py:3 `+` → `-`: the tests stay green\n--- a/a.py\n-1\n+2\n2. a.py:3 `+` → `-`: the tests stay green\n"
    )
    some = recovery.chosen(list(moved.question.options), "some_equivalent 2 only a cache", 7)
    assert (some.option, some.words) == (recovery.SOME_EQUIVALENT, "2 only a cache")
    choice = recovery.chosen(list(moved.question.options), "all_equivalent only a cache", 7)
    assert (choice.option, choice.words) == (recovery.EQUIVALENT, "only a cache")
    with pytest.raises(UsageError, match="all_equivalent"):
        recovery.needed(recovery.chosen(list(moved.question.options), "4", 7), 7)


@pytest.mark.req("F10.3")
@pytest.mark.parametrize(
    ("words", "chosen"),
    [
        ("2 only a cache", (["b"], "only a cache")),
        ("1,3: they are\nlogs", (["a", "c"], "they are\nlogs")),
        ("3, 3 ,1 twice", (["c", "a"], "twice")),
        ("2", ([], "")),
        ("2 \u200b", ([], "")),
        ("0 why", ([], "")),
        ("1,4 why", ([], "")),
        ("one why", ([], "")),
        ("1,,2 why", ([], "")),
        ("9" * 5000 + " why", ([], "")),
    ],
)
def test_mutants_are_chosen_by_number_with_a_reason_or_not_at_all(words: str, chosen: tuple[list[str], str]) -> None:
    assert chosen_marks(["a", "b", "c"], words) == chosen


@pytest.mark.req("F10.3")
def test_fewer_survivors_are_another_failure() -> None:
    both, one = (VerdictFeedback(survivors=some) for some in ([ONE, TWO], [TWO]))
    assert both.signature("mutant_survived") != one.signature("mutant_survived")
