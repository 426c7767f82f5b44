"""The verdict of a release follows from what was found; nothing checked is never green."""

import json

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from damascus.domain.critique import RequirementStatus
from damascus.domain.release import (
    CheckOfRelease,
    ContractOfRelease,
    CoverageOfRelease,
    FindingOfRelease,
    ReleaseReceipt,
    ReleaseVerdict,
    RepositoryOfRelease,
    TaskOfRelease,
    verdict,
)
from damascus.domain.release_schema import text
from damascus.domain.verdict import TaskStatus
from tests.rules.tree import ROOT

FILE = ROOT / "docs/schemas/release_receipt.schema.json"
FULLY = {"REQ-001": RequirementStatus.FULLY_VERIFIED}
TASK = TaskOfRelease(
    story="T-1", title="One", status=TaskStatus.DONE, commit="c", receipt="VERIFIED", requirements=FULLY
)
PASSED = CheckOfRelease(name="suite", command="pytest", state="passed")
CONTRACT = ContractOfRelease(name="TC-1", command="pytest", state="passed", task="T-1")
REPO = RepositoryOfRelease(
    repo="shop",
    commit="c" * 40,
    suite=PASSED,
    contracts=[CONTRACT],
    coverage=CoverageOfRelease(percent=91.5, wanted=70),
)


def judged(task: TaskOfRelease | None = TASK, repo: RepositoryOfRelease | None = REPO) -> ReleaseReceipt:
    tasks, repos = [task] if task else [], [repo] if repo else []
    return ReleaseReceipt(
        project="shop", declared_by="Ada", declared_at="now", tasks=tasks, repositories=repos
    ).judged()


def repo(**parts: object) -> RepositoryOfRelease:
    return REPO.model_copy(update=parts)


def task(**parts: object) -> TaskOfRelease:
    return TASK.model_copy(update=parts)


@pytest.mark.req("A2.5")
def test_all_done_and_green_is_ship() -> None:
    assert judged().verdict is ReleaseVerdict.SHIP


@pytest.mark.req("A2.5")
@pytest.mark.parametrize(
    ("found", "named"),
    [
        (judged(None), "no task is DONE"),
        (judged(repo=None), "no repository was verified"),
        (judged(task(status=TaskStatus.PENDING)), "T-1 is PENDING"),
        (judged(task(status=TaskStatus.STALE)), "T-1 is STALE"),
        (judged(task(status=TaskStatus.BLOCKED)), "T-1 is BLOCKED"),
        (judged(task(on_main=False)), "T-1 is not on main any more"),
        (judged(repo=repo(suite=PASSED.model_copy(update={"state": "failed"}))), "shop: suite"),
        (judged(repo=repo(contracts=[CONTRACT.model_copy(update={"state": "failed"})])), "shop: T-1 TC-1"),
        (judged(repo=repo(coverage=CoverageOfRelease(percent=69.9, wanted=70))), "the tests run 69.9 %"),
    ],
)
def test_what_is_red_or_not_done_is_named_and_no_ship(found: ReleaseReceipt, named: str) -> None:
    assert found.verdict is ReleaseVerdict.NO_SHIP and any(named in one for one in found.red), found.red


@pytest.mark.req("A2.5")
@pytest.mark.parametrize(
    ("found", "named"),
    [
        (judged(task(receipt=None)), "T-1 has no receipt"),
        (judged(task(receipt="UNVERIFIED")), "the receipt of T-1 is UNVERIFIED"),
        (judged(task(requirements={"REQ-001": RequirementStatus.PARTIAL})), "T-1: REQ-001 is PARTIAL"),
        (judged(repo=repo(suite=CheckOfRelease(name="suite", state="not_run"))), "shop: suite: not run"),
        (judged(repo=repo(coverage=CoverageOfRelease())), "coverage of the project was not measured"),
        (
            judged(repo=repo(findings=[FindingOfRelease(path="a.py", line=3, rule="S602")])),
            "a.py:3 S602 was reviewed by",
        ),
        (judged(repo=repo(unreviewed=["T-1"])), "T-1 was read by no security-reviewer"),
        (judged(repo=repo(unread=["*.go"])), "no analyser looks at *.go"),
    ],
)
def test_what_nobody_can_vouch_for_is_named_and_conditional(found: ReleaseReceipt, named: str) -> None:
    assert found.verdict is ReleaseVerdict.CONDITIONAL and any(named in one for one in found.unverified)


@pytest.mark.req("A2.5")
def test_only_mvp_is_conditional_and_a_cancelled_task_is_named() -> None:
    found = judged(task(requirements={"REQ-001": RequirementStatus.MVP_VERIFIED}))
    assert found.verdict is ReleaseVerdict.CONDITIONAL and found.mvp == ["T-1: REQ-001 is MVP_VERIFIED"]
    gone = task(story="T-2", status=TaskStatus.BLOCKED, cancelled=True)
    both = judged().model_copy(update={"tasks": [TASK, gone]}).judged()
    assert both.verdict is ReleaseVerdict.CONDITIONAL and "T-2 was cancelled" in both.unverified[0]


@given(
    st.lists(st.text(max_size=3), max_size=2),
    st.lists(st.text(max_size=3), max_size=2),
    st.lists(st.text(), max_size=2),
)
def test_more_that_is_wrong_never_makes_it_better(red: list[str], unverified: list[str], mvp: list[str]) -> None:
    order = [ReleaseVerdict.SHIP, ReleaseVerdict.CONDITIONAL, ReleaseVerdict.NO_SHIP]
    worse = (
        verdict([*red, "x"], unverified, mvp),
        verdict(red, [*unverified, "x"], mvp),
        verdict(red, unverified, [*mvp, "x"]),
    )
    assert all(order.index(one) >= order.index(verdict(red, unverified, mvp)) for one in worse)
    assert (verdict(red, unverified, mvp) is ReleaseVerdict.SHIP) == (not red and not unverified and not mvp)


@pytest.mark.req("A2.5")
def test_the_published_schema_is_made_from_the_classes_and_a_receipt_is_what_it_says() -> None:
    assert FILE.read_text("utf-8") == text(), f"python -m damascus.domain.release_schema {FILE.relative_to(ROOT)}"
    jsonschema.validate(judged().model_dump(mode="json"), json.loads(text()))
