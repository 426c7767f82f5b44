"""policy.decide with properties: what each outcome may change, and what it never does."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import get_args
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from damascus.domain.events import EventKind
from damascus.domain.feedback import Conflict, VerdictFeedback
from damascus.domain.ids import Fence, StoryId
from damascus.domain.item import Item
from damascus.domain.outcome import Advance, GivenBack, Landed, NeedsPerson, Outcome, Rejected, Transient, Wait
from damascus.domain.policy import LOOP_LIMIT, SERIES_LIMIT, Transition, backoff, decide, needs_clock
from damascus.domain.verdict import ACTIVE, Phase, Verdict

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
RESTING = (Phase.DONE, Phase.BLOCKED, Phase.STALE, Phase.CANCELLED)
NEEDS_PULL = (Phase.REVIEW, Phase.MERGE, Phase.DONE)
STRUCTURAL = [v for v in Verdict if v != Verdict.PASSED]

feedbacks = st.builds(
    VerdictFeedback,
    transient=st.sampled_from([None, True]),
    message=st.text("ab", max_size=3),
    gate=st.sampled_from([None, "tests", "scope"]),
    failing_tests=st.lists(st.sampled_from("tu"), max_size=2),
    conflict=st.sampled_from([None, Conflict(conflicting_files=["f"], their_sha="0" * 40)]),
)
moments = st.timedeltas(timedelta(0), timedelta(hours=30)).map(lambda d: NOW - d)


@st.composite
def items(draw: st.DrawFn) -> Item:
    """A claimed item as the table can hold it."""
    phase = draw(st.sampled_from(ACTIVE))
    since = draw(st.none() | moments)
    streak = draw(st.integers(0, LOOP_LIMIT - 1))
    return Item(
        id=1, uuid=UUID(int=1), project_id=1, project="p", repo_id=1, story_id=StoryId("S-1"), title="t", phase=phase,
        run_no=3, fence=Fence(7), spec=b"", spec_path="s.md", spec_hash="h", file_scope=("a",), branch="feat/S-1",
        attempts=draw(st.integers(0, 4)), budget_cycles=draw(st.integers(5, 9)),
        pr_url="local#1" if phase in NEEDS_PULL else None,
        last_verdict=draw(st.none() | st.sampled_from(STRUCTURAL)), last_feedback=draw(st.none() | feedbacks),
        failure_signature="x" if streak else None, failure_streak=streak, series_since=since,
        series_count=draw(st.integers(1, 40)) if since else 0, series_ended=draw(st.booleans()),
        first_attempted_at=draw(st.none() | moments),
    )  # fmt: skip


@st.composite
def outcomes(draw: st.DrawFn, *, phase: Phase) -> Outcome:
    after = {Phase.SPEC: Phase.BUILD, Phase.BUILD: Phase.REVIEW, Phase.REVIEW: Phase.MERGE, Phase.MERGE: Phase.MERGE}
    feedback = draw(feedbacks)
    return draw(
        st.sampled_from(
            [
                Advance(after[phase], {"pr_url": "local#1", "base_commit": "b"}),
                Landed("c" * 40, "reachable", {"pr_url": "local#1"}),
                *(Rejected(verdict, feedback) for verdict in STRUCTURAL),
                Transient("connection refused"),
                Wait("ci", "k", timedelta(seconds=10)),
                Wait("landing", "1 main"),
                *(
                    NeedsPerson(v, "which?", ("a", "b"), feedback)
                    for v in (None, Verdict.SPEC_WRONG, Verdict.SPEC_AMBIGUOUS)
                ),
                GivenBack(),
            ]
        )
    )


@st.composite
def decided(draw: st.DrawFn) -> tuple[Item, Outcome, Transition]:
    item = draw(items())
    outcome = draw(outcomes(phase=item.phase))
    return item, outcome, decide(item, outcome, NOW)


def test_the_properties_see_every_outcome() -> None:
    assert {Advance, Landed, Rejected, Transient, Wait, NeedsPerson, GivenBack} == set(get_args(Outcome))


@pytest.mark.req("D10", "D11")
@settings(max_examples=150, deadline=None)
@given(decided())
def test_every_transition_fits_the_table(case: tuple[Item, Outcome, Transition]) -> None:
    """The CHECKs of work_items, and the rules that the CHECKs can't say."""
    item, _, to = case
    assert to.state in ("ready", "waiting", "resting")
    assert (to.state == "waiting") == (to.wait_kind is not None)
    assert (to.wait_kind is None) == (to.wait_key is None)
    assert to.not_before is None or to.state == "waiting"
    assert (to.state == "resting") == (to.phase in RESTING)
    assert (to.phase == Phase.BLOCKED) == (to.resume_phase is not None)
    assert to.resume_phase is None or to.resume_phase in ACTIVE
    assert to.phase not in NEEDS_PULL or to.facts.get("pr_url") or item.pr_url
    assert to.phase != Phase.DONE or to.facts.get("merged_commit")
    assert to.frees_scope == (to.state == "resting")
    assert not (to.keep_place and to.state == "resting"), "who rests is in nobody's way"
    assert to.events and {kind for kind, _ in to.events} <= set(EventKind)


@pytest.mark.req("D15", "T3", "T5")
@settings(max_examples=150, deadline=None)
@given(decided())
def test_a_blocked_story_always_asks_and_no_other_does(case: tuple[Item, Outcome, Transition]) -> None:
    _, _, to = case
    assert (to.question is not None) == (to.phase == Phase.BLOCKED)
    if to.question is not None:
        assert to.question.question and to.question.options and to.question.owner


@pytest.mark.req("D12", "D13", "T2")
@settings(max_examples=150, deadline=None)
@given(decided())
def test_only_a_rejection_spends_an_attempt(case: tuple[Item, Outcome, Transition]) -> None:
    item, outcome, to = case
    assert to.attempts == item.attempts + isinstance(outcome, Rejected)


@pytest.mark.req("D12")
@settings(max_examples=100, deadline=None)
@given(decided())
def test_success_leaves_the_verdict_and_landing_sets_passed(case: tuple[Item, Outcome, Transition]) -> None:
    item, outcome, to = case
    if isinstance(outcome, Landed):
        assert (to.phase, to.verdict) == (Phase.DONE, Verdict.PASSED)
    elif isinstance(outcome, Advance | Transient | Wait | GivenBack):
        assert to.verdict == item.last_verdict
    if isinstance(outcome, Advance):
        assert (to.feedback, to.attempts, to.new_run) == (item.last_feedback, item.attempts, True)
        assert to.facts["base_commit"] == "b"


# ── transient series ──────────────────────────────────────────────────────────────────────────────────


@pytest.mark.req("T2")
@settings(max_examples=120, deadline=None)
@given(items(), st.timedeltas(timedelta(0), timedelta(hours=30)))
def test_a_transient_failure_charges_nothing_before_24_hours(item: Item, age: timedelta) -> None:
    item = replace(item, series_since=NOW - age, series_count=3)
    to = decide(item, Transient("502"), NOW)
    assert (to.attempts, to.verdict) == (item.attempts, item.last_verdict)
    assert (to.failure_signature, to.failure_streak) == (item.failure_signature, item.failure_streak)
    if age > SERIES_LIMIT:
        assert (to.phase, to.question is not None) == (Phase.BLOCKED, True)
        assert to.events[0][0] == "blocked.transient"
        return
    assert (to.phase, to.state, to.question, to.new_run) == (item.phase, "waiting", None, False)
    assert [kind for kind, _ in to.events] == ["phase.transient_retry"]
    assert to.feedback is not None and to.feedback.transient is True
    assert (to.series_since, to.series_count) == (item.series_since, 4)
    assert to.not_before == NOW + backoff(4)


@pytest.mark.req("T2", "W19")
def test_back_off_doubles_from_a_second_to_five_minutes() -> None:
    seconds = [backoff(n).total_seconds() for n in range(1, 14)]
    assert seconds == [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300, 300, 300]
    assert backoff(10**6).total_seconds() == 300


@pytest.mark.req("T2", "T3")
@settings(max_examples=100, deadline=None)
@given(items())
def test_the_first_series_counts_from_the_first_attempt_and_later_ones_from_their_start(item: Item) -> None:
    """At first that is first_attempted_at; success, a structural failure or a person's retry end a series."""
    old = NOW - timedelta(hours=25)
    first = replace(item, series_since=None, series_count=0, series_ended=False, first_attempted_at=old)
    assert decide(first, Transient("x"), NOW).phase == Phase.BLOCKED
    later = replace(first, series_ended=True)
    to = decide(later, Transient("x"), NOW)
    assert (to.series_since, to.series_count, to.state) == (NOW, 1, "waiting")


@pytest.mark.req("T2")
@settings(max_examples=100, deadline=None)
@given(decided())
def test_only_success_and_structural_failures_end_a_series(case: tuple[Item, Outcome, Transition]) -> None:
    item, outcome, to = case
    if isinstance(outcome, Advance | Landed | Rejected):
        assert (to.series_since, to.series_count, to.series_ended) == (None, 0, True)
    elif not isinstance(outcome, Transient):
        kept = (item.series_since, item.series_count, item.series_ended)
        assert (to.series_since, to.series_count, to.series_ended) == kept


# ── rejections ────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.req("D13", "D14", "D8")
@settings(max_examples=120, deadline=None)
@given(items(), feedbacks, st.sampled_from(STRUCTURAL))
def test_a_rejected_attempt_goes_back_to_build_with_its_feedback(
    item: Item, feedback: VerdictFeedback, verdict: Verdict
) -> None:
    to = decide(replace(item, budget_cycles=99, failure_streak=0), Rejected(verdict, feedback), NOW)
    assert to.phase == (Phase.SPEC if item.phase == Phase.SPEC else Phase.BUILD)
    assert (to.state, to.verdict, to.feedback, to.new_run) == ("ready", verdict, feedback, True)
    assert to.failure_streak == 1
    kinds = [kind for kind, _ in to.events]
    assert kinds[0] == "attempt.rejected"
    assert ("phase.transitioned" in kinds) == (to.phase != item.phase)


@pytest.mark.req("D15")
@settings(max_examples=100, deadline=None)
@given(items(), feedbacks)
def test_a_spent_budget_blocks(item: Item, feedback: VerdictFeedback) -> None:
    item = replace(item, attempts=item.budget_cycles - 1)
    to = decide(item, Rejected(Verdict.TESTS_FAILED, feedback), NOW)
    assert (to.phase, to.attempts) == (Phase.BLOCKED, item.budget_cycles)
    assert [kind for kind, _ in to.events] == ["attempt.rejected", "blocked.exhausted", "phase.transitioned"]
    before = decide(
        replace(item, attempts=item.budget_cycles - 2, failure_streak=0), Rejected(Verdict.NO_PR, feedback), NOW
    )
    assert before.phase != Phase.BLOCKED


def followed(item: Item, to: Transition) -> Item:
    phase = to.resume_phase or to.phase
    return replace(
        item, phase=phase, attempts=to.attempts, last_verdict=to.verdict, last_feedback=to.feedback,
        failure_signature=to.failure_signature, failure_streak=to.failure_streak, series_since=to.series_since,
        series_count=to.series_count, series_ended=to.series_ended,
    )  # fmt: skip


@pytest.mark.req("T5")
@settings(max_examples=100, deadline=None)
@given(st.lists(st.sampled_from(["t1", "t2"]), min_size=1, max_size=12), st.data())
def test_the_loop_breaker_trips_exactly_at_the_third_same_failure(tests: list[str], data: st.DataObject) -> None:
    """Trouble outside, waits and phases in between do not hide that the same failure comes again."""
    item = replace(data.draw(items()), phase=Phase.BUILD, attempts=0, budget_cycles=99, failure_streak=0,
                   failure_signature=None, series_since=None, first_attempted_at=NOW)  # fmt: skip
    run = 0
    for n, test in enumerate(tests):
        run = run + 1 if n and tests[n - 1] == test else 1
        between = data.draw(st.sampled_from([None, Transient("x"), Wait("ci", "k"), GivenBack(), Advance(Phase.BUILD)]))
        if between is not None:
            item = followed(item, decide(item, between, NOW))
        to = decide(item, Rejected(Verdict.TESTS_FAILED, VerdictFeedback(failing_tests=[test])), NOW)
        assert (to.phase == Phase.BLOCKED) == (run == LOOP_LIMIT)
        item = followed(item, to)
        if to.phase == Phase.BLOCKED:
            assert to.events[1][0] == "blocked.loop" and to.question is not None
            return


@pytest.mark.req("T5")
def test_another_gate_verdict_test_or_file_is_another_failure() -> None:
    base = VerdictFeedback(gate="tests", failing_tests=["b", "a"])
    assert base.signature("v") == VerdictFeedback(gate="tests", failing_tests=["a", "b"], message="x").signature("v")
    conflict = Conflict(conflicting_files=["f"], their_sha="0" * 40)
    others = [
        base.signature("w"),
        base.model_copy(update={"gate": "ci"}).signature("v"),
        base.model_copy(update={"failing_tests": ["a"]}).signature("v"),
        base.model_copy(update={"requirements": ["REQ-001"]}).signature("v"),
        base.model_copy(update={"conflict": conflict}).signature("v"),
    ]
    assert len({base.signature("v"), *others}) == len(others) + 1


@pytest.mark.req("D19")
def test_a_question_keeps_the_verdict_unless_it_brings_one() -> None:
    item = Item(1, UUID(int=1), 1, "p", 1, StoryId("S"), "t", Phase.SPEC, 1, Fence(1), b"", "", "", (), "b", 2, 5,
                last_verdict=Verdict.NO_PR)  # fmt: skip
    asked = decide(item, NeedsPerson(Verdict.SPEC_AMBIGUOUS, "which?", ("a",), VerdictFeedback()), NOW)
    assert (asked.verdict, asked.resume_phase, asked.attempts) == (Verdict.SPEC_AMBIGUOUS, Phase.SPEC, 2)
    assert asked.events[0][0] == "blocked.spec_ambiguous"
    assert decide(item, NeedsPerson(None, "?", ("a",), VerdictFeedback()), NOW).verdict == Verdict.NO_PR


@settings(max_examples=100, deadline=None)
@given(decided())
def test_what_needs_no_clock_does_not_look_at_it(case: tuple[Item, Outcome, Transition]) -> None:
    item, outcome, to = case
    if not needs_clock(outcome):
        assert decide(item, outcome, datetime.min.replace(tzinfo=UTC)) == to
