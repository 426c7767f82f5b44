"""A settle is one transaction: row, lease, scope, journal and events together or not at all."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from psycopg.types.json import Jsonb

from damascus.domain import policy
from damascus.domain.feedback import Conflict, VerdictFeedback
from damascus.domain.item import Item
from damascus.domain.outcome import Advance, Landed, NeedsPerson, Rejected, Transient, Wait
from damascus.domain.storable import storable
from damascus.domain.verdict import Phase, Verdict
from damascus.store import journal, people, rows, settle
from damascus.store.db import Database
from tests.store.lane import Lane

NASTY = "NUL \0, half a character \ud83d, a bell \a, é and \U0001f600"
NOW = datetime.now(UTC)
characters = st.text(st.characters(codec=None, categories=None), max_size=6)


@pytest.fixture
def lane(db: Database) -> Lane:
    return Lane(db)


@pytest.fixture
def item(lane: Lane) -> Item:
    lane.add("S")
    return lane.claim_one()


# ── events ────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.req("D11")
def test_a_settle_that_fails_leaves_no_event_and_changes_nothing(lane: Lane, item: Item) -> None:
    """The database refuses `review` without a pull request: nothing of that transaction stays."""
    before = lane.row("S"), lane.events("S")
    done = journal.DoneStep("ci", "", NOW, {"x": 1}, events=(("ci.finished", {}),))
    to = policy.decide(item, Advance(Phase.REVIEW), NOW)
    with pytest.raises(psycopg.errors.CheckViolation):
        settle.settle(lane.db, item, to, dones=[done])
    assert (lane.row("S"), lane.events("S")) == before
    assert lane.query("SELECT * FROM journal") == []
    assert lane.violations() == []
    lane.review(item)  # the worker still holds it and may go on


@pytest.mark.req("D11")
def test_the_events_of_a_story_from_claim_to_main_in_order(lane: Lane, item: Item) -> None:
    lane.settle(item, Rejected(Verdict.TESTS_FAILED, VerdictFeedback(message="red")))
    item = lane.review(lane.claim_one())
    lane.land(item)
    assert lane.events("S") == [
        "story.added", "item.claimed", "attempt.rejected", "item.claimed", "phase.transitioned", "phase.transitioned",
        "story.landed",
    ]  # fmt: skip


@pytest.mark.req("D11", "D20")
def test_an_effect_is_told_once_however_often_it_is_settled(lane: Lane, item: Item) -> None:
    """A transaction whose answer was lost runs again: the fence finds that it was done."""
    from damascus.domain.errors import Fenced

    to = policy.decide(item, Landed("c" * 40, "reachable", {"pr_url": "local#1"}), NOW)
    settle.settle(lane.db, item, to)
    with pytest.raises(Fenced):
        settle.settle(lane.db, item, to)
    assert lane.events("S").count("story.landed") == 1


# ── what a row can hold ───────────────────────────────────────────────────────────────────────────────


@pytest.mark.req("T6")
def test_whatever_an_agent_printed_can_be_stored(lane: Lane, item: Item) -> None:
    """⚑ PostgreSQL refuses NUL in text and jsonb; one stray byte must not rescue a story for ever."""
    feedback = VerdictFeedback(
        message=NASTY, test_output=NASTY, failing_tests=[NASTY], files_changed=[NASTY],
        claims={NASTY: [NASTY, {"a": NASTY}]},
        conflict=Conflict(conflicting_files=[NASTY], their_sha="0" * 40, details=NASTY),
    )  # fmt: skip
    done = journal.DoneStep(
        "implement", "", NOW, {"tail": NASTY}, {"in": NASTY}, (("agent.finished", {"ended": NASTY}),)
    )
    lane.db.run(lambda c: journal.write_intent(c, item, "implement", "", {"in": NASTY}))
    to = policy.decide(item, Rejected(Verdict.TESTS_FAILED, feedback), NOW)
    settle.settle(lane.db, item, to, dones=[done], record={"step": "red", "line": NASTY, "progress": {"x": NASTY}})
    stored = lane.claim_one().last_feedback
    assert stored is not None and "\0" not in str(stored) and "é and \U0001f600" in stored.message


json_like = st.recursive(
    st.none() | st.booleans() | st.integers() | st.integers().map(lambda n: 10**300 * n) | st.floats() | characters,
    lambda inner: st.lists(inner) | st.tuples(inner, inner) | st.dictionaries(characters, inner),
    max_leaves=8,
)


@pytest.mark.req("T6")
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(values=st.lists(json_like, min_size=1, max_size=5))
def test_any_value_of_a_report_can_be_stored(db: Database, values: list[object]) -> None:
    for value in values:
        db.run(lambda c, v=value: c.execute("SELECT %s::jsonb", (Jsonb(storable(v)),)).fetchone())  # type: ignore[misc]


@pytest.mark.parametrize("kind", ["question", "wait", "transient", "exhausted"])
def test_nasty_text_in_a_question_a_wait_or_a_reason_can_be_stored(lane: Lane, item: Item, kind: str) -> None:
    outcome = {
        "question": NeedsPerson(None, NASTY, (NASTY,), VerdictFeedback(message=NASTY)),
        "wait": Wait("dirty", NASTY, timedelta(seconds=10), NASTY),
        "transient": Transient(NASTY),
        "exhausted": Rejected(Verdict.TESTS_FAILED, VerdictFeedback(message=NASTY)),
    }[kind]
    lane.settle(replace(item, budget_cycles=1), outcome)
    assert lane.row("S")["state"] in ("waiting", "resting")
    assert lane.violations() == []


# ── the journal ───────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.req("D20")
def test_the_journal_is_kept_by_run(lane: Lane, item: Item) -> None:
    """⚑ Keyed by attempt, rework without a burnt attempt returns the old result."""
    lane.db.run(lambda c: journal.write_dones(c, item, [journal.DoneStep("push", "", NOW, {"commit": "old"})]))
    assert journal.load(lane.db, item)["push", ""].output == {"commit": "old"}
    people.retry(lane.db, lane.project.id, "S")
    again = lane.claim_one()
    assert (again.attempts, journal.load(lane.db, again)) == (item.attempts, {})
    lane.settle(again, Rejected(Verdict.NO_PR, VerdictFeedback()))
    assert journal.load(lane.db, lane.claim_one()) == {}


@pytest.mark.req("D20")
def test_a_rescue_and_a_transient_retry_go_on_with_the_same_run(lane: Lane, item: Item) -> None:
    lane.db.run(lambda c: journal.write_dones(c, item, [journal.DoneStep("prepare", "", NOW, {"base": "b"})]))
    lane.expire(item)
    lane.rescue()
    heir = lane.claim_one()
    assert ("prepare", "") in journal.load(lane.db, heir)
    lane.settle(heir, Transient("x"))
    lane.execute("UPDATE work_items SET not_before = now()")
    assert ("prepare", "") in journal.load(lane.db, lane.claim_one())


@pytest.mark.req("D20")
def test_the_first_result_of_a_step_stays(lane: Lane, item: Item) -> None:
    for n in (1, 2):
        lane.db.run(lambda c, n=n: journal.write_intent(c, item, "push", "k", {"n": n}))  # type: ignore[misc]
    assert journal.load(lane.db, item)["push", "k"].input == {"n": 2}
    for n in (1, 2):
        lane.db.run(lambda c, n=n: journal.write_dones(c, item, [journal.DoneStep("push", "k", NOW, {"n": n})]))  # type: ignore[misc]
    lane.db.run(lambda c: journal.write_intent(c, item, "push", "k", {"n": 3}))
    entry = journal.load(lane.db, item)["push", "k"]
    assert (entry.status, entry.output) == ("done", {"n": 1})


# ── counters and series in the row ────────────────────────────────────────────────────────────────────


@pytest.mark.req("T2", "T3")
def test_a_transient_series_in_the_row_and_its_end_after_24_hours(lane: Lane, item: Item) -> None:
    lane.settle(item, Transient("forge: connection refused"))
    row = lane.row("S")
    assert (row["phase"], row["attempts"], row["last_verdict"], row["series_count"]) == ("build", 0, None, 1)
    assert 0 < (row["not_before"] - row["updated_at"]).total_seconds() < 1.5
    assert lane.query("SELECT * FROM human_issues") == [] and lane.claim() == []
    lane.execute("UPDATE work_items SET series_since = now() - interval '25 hours', not_before = now()")
    lane.settle(lane.claim_one(), Transient("forge: connection refused"))
    assert lane.row("S")["phase"] == "blocked"
    [issue] = lane.query("SELECT question FROM human_issues")
    assert "over 24 h" in issue["question"] and "connection refused" in issue["question"]
    people.retry(lane.db, lane.project.id, "S")
    again = lane.claim_one()
    lane.settle(again, Transient("x"))
    assert (lane.row("S")["phase"], lane.row("S")["series_count"]) == ("build", 1)


@pytest.mark.req("D15")
def test_no_attempt_after_the_budget(lane: Lane, item: Item) -> None:
    for n in range(5):
        lane.settle(item, Rejected(Verdict.TESTS_FAILED, VerdictFeedback(failing_tests=[str(n)])))
        claimed = lane.claim()
        item = claimed[0] if claimed else item
    row = lane.row("S")
    assert (row["phase"], row["attempts"], lane.claim()) == ("blocked", 5, [])
    assert lane.events("S").count("item.claimed") == 5 and lane.events("S").count("blocked.exhausted") == 1
    [issue] = lane.query("SELECT * FROM human_issues")
    assert "5 of 5 tries" in issue["question"] and "tests_failed" in issue["question"] and len(issue["options"]) == 3


# ── what the database itself refuses ──────────────────────────────────────────────────────────────────

FORBIDDEN = {
    "review without a pull": ("phase = 'review', state = 'ready'", "review_needs_a_pull"),
    "merge without a pull": ("phase = 'merge', state = 'ready'", "review_needs_a_pull"),
    "done without a pull": ("phase = 'done', state = 'resting', merged_commit = 'c'", "review_needs_a_pull"),
    "done without a commit": ("phase = 'done', state = 'resting', pr_url = 'x'", "done_means_landed"),
    "blocked without a way back": ("phase = 'blocked', state = 'resting'", "blocked_resumes_somewhere"),
    "a way back without being blocked": ("state = 'ready', resume_phase = 'build'", "blocked_resumes_somewhere"),
    "waiting for nothing": ("state = 'waiting'", "waiting_names_its_reason"),
    "a reason without waiting": ("state = 'ready', wait_kind = 'ci'", "waiting_names_its_reason"),
    "done but not resting": ("phase = 'done', state = 'ready', pr_url = 'x', merged_commit = 'c'", "resting_phases"),
    "resting but not finished": ("state = 'resting'", "resting_phases"),
    "an unknown phase": ("phase = 'celebrating'", "work_items_phase_check"),
    "an unknown state": ("state = 'asleep'", "work_items_state_check"),
    "a budget of nothing": ("budget_cycles = 0", "budget_cycles"),
    "a priority of five": ("priority = 5", "priority"),
}


@pytest.mark.req("D10")
@pytest.mark.parametrize("name", FORBIDDEN)
def test_the_database_itself_refuses(lane: Lane, item: Item, name: str) -> None:
    change, constraint = FORBIDDEN[name]
    with pytest.raises(psycopg.errors.CheckViolation, match=constraint):
        lane.execute(f"UPDATE work_items SET {change}")


@pytest.mark.req("D17")
def test_the_database_itself_refuses_two_stories_on_one_file(lane: Lane, item: Item) -> None:
    lane.add("other")
    with pytest.raises(psycopg.errors.ExclusionViolation, match="two_stories_never_touch_the_same_files"):
        lane.execute(
            "INSERT INTO active_scopes SELECT i.id, a.span FROM active_scopes a, work_items i"
            " WHERE i.story_id = 'other'"
        )


def test_the_database_itself_refuses_a_story_twice_whatever_its_case(lane: Lane, item: Item) -> None:
    with pytest.raises(psycopg.errors.UniqueViolation):
        lane.execute(
            "INSERT INTO work_items (project_id, project, repo_id, story_id, title, phase, state, spec, spec_hash,"
            " spec_path, branch) SELECT project_id, project, repo_id, 's', title, phase, 'ready', spec, spec_hash,"
            " spec_path, branch FROM work_items"
        )


# ── a new column, an older worker ─────────────────────────────────────────────────────────────────────


def test_a_column_that_settle_never_heard_of_is_written_and_read_by_its_name(
    lane: Lane, item: Item, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a migration and a field of Item make it: nothing in store/ names it."""
    lane.execute("ALTER TABLE work_items ADD COLUMN mood text")
    monkeypatch.setitem(rows.COLUMNS, "mood", None)
    to = policy.decide(item, Advance(Phase.REVIEW, {"pr_url": "local#1", "mood": "calm"}), NOW)
    settle.settle(lane.db, item, to)
    [row] = lane.db.all("items_by_id", ids=[item.id])
    assert (row["mood"], row["pr_url"]) == ("calm", "local#1")


def test_usual_columns_alone_and_beside_another_are_set_alike(lane: Lane, item: Item) -> None:
    """Alone they are set by a statement that is planned once, beside any other by one of their own names."""
    outcome = Rejected(Verdict.TESTS_FAILED, VerdictFeedback(message="red"))
    to = replace(policy.decide(item, outcome, NOW), facts={"candidate": "c" * 40})
    known = {**settle._columns(item, to), "state": "leased"}
    seen = []
    for columns in (known, {**known, "title": item.title}):
        told = {"columns": columns, "keep": True, "run_no": 1, "keep_place": True, "frees_scope": False, "events": []}
        [row] = lane.db.all("settle_item", item=item.id, fence=item.fence, columns=Jsonb(told), spec=None, spans=None)
        seen.append({name: value for name, value in row.items() if name != "updated_at"})
    assert seen[0] == seen[1]
    assert (seen[0]["candidate"], seen[0]["last_verdict"], seen[0]["base_commit"]) == (
        "c" * 40,
        "tests_failed",
        item.base_commit,
    )


def test_a_worker_of_the_release_before_settles_with_its_own_names(lane: Lane, item: Item) -> None:
    """Schema 12 sent the columns beside everything else, some under other names, and left out what is NULL."""
    sent = {
        "project": item.project_id, "run_no": 1, "from": "build", "phase": "review", "state": "ready", "attempts": 2,
        "verdict": "tests_failed", "feedback": {"message": "red"}, "signature": "s", "streak": 1, "series_count": 0,
        "series_ended": True, "new_run": 1, "keep_place": True, "frees_scope": False, "ends_record": False,
        "pr_url": "local#1", "candidate": "c" * 40, "keep": True, "dones": [], "events": [["phase.transitioned", {}]],
    }  # fmt: skip
    [row] = lane.db.all("settle_item", item=item.id, fence=item.fence, columns=Jsonb(sent), spec=None, spans=None)
    after = rows.item(row)
    assert (after.phase, after.run_no, after.attempts, after.pr_url) == (Phase.REVIEW, 2, 2, "local#1")
    assert (after.last_verdict, after.failure_signature, after.failure_streak) == (Verdict.TESTS_FAILED, "s", 1)
    assert after.last_feedback == VerdictFeedback(message="red") and after.candidate == "c" * 40
    assert (after.base_commit, after.file_scope, after.spec) == (item.base_commit, item.file_scope, item.spec)
    assert lane.row("S")["state"] == "leased" and lane.violations() == []
