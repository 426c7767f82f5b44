"""A done story that is not valid any more: marked, taken back, approved anew; the database lets no worker have it."""

from typing import Any

import psycopg
import pytest

from damascus.domain.errors import DamascusError, UsageError
from damascus.domain.spec import parse_spec
from damascus.store import people, queueing, stale, views
from damascus.store.db import Connection, Database
from damascus.store.queueing import NewStory
from damascus.store.stale import Invalidation
from tests.store.lane import Lane
from tests.yard import story

BLOCKED = "UPDATE work_items SET phase = 'blocked', state = 'resting', resume_phase = 'build' WHERE story_id = 'A'"
CHANGE = Invalidation("prices are in cents", "Ada", tests=("tests/test_a.py::test_price",))


@pytest.fixture
def lane(db: Database) -> Lane:
    made = Lane(db)
    made.add("A")
    made.land(made.claim_one())
    return made


def change(lane: Lane, name: str = "A", **parts: Any) -> None:
    made = Invalidation(**{"why": CHANGE.why, "by": CHANGE.by, "tests": CHANGE.tests} | parts)
    stale.mark_changed(lane.db, lane.project.id, [name], lambda _: made)


def new_story(name: str, **front: Any) -> NewStory:
    raw = story(name, **front).encode()
    return NewStory(parse_spec(raw), raw, f"{name}.md")


@pytest.mark.req("A3.1")
def test_a_change_makes_a_done_story_stale_with_its_reason_its_question_and_its_event_in_one_act(lane: Lane) -> None:
    before = lane.row("A")
    change(lane)
    row = lane.row("A")
    assert (row["phase"], row["state"], row["fence"]) == ("stale", "resting", before["fence"] + 1)
    kept = {"why": CHANGE.why, "by": "Ada", "regression": False, "commit": "c" * 40, "spec_hash": before["spec_hash"]}
    assert kept.items() <= row["change"].items() and row["change"]["tests"] == list(CHANGE.tests)
    assert lane.events("A")[-3:] == ["issue.opened", "story.stale", "phase.transitioned"]
    [asked] = lane.query("SELECT question FROM human_issues WHERE closed_at IS NULL")
    assert "prices are in cents" in asked["question"] and "tests/test_a.py::test_price" in asked["question"]
    assert lane.violations() == []


@pytest.mark.req("A3.1")
def test_all_of_a_change_become_stale_or_none(lane: Lane) -> None:
    lane.add("B")
    with pytest.raises(DamascusError, match=r"B is not DONE \(phase build\)"):
        stale.mark_changed(lane.db, lane.project.id, ["A", "B"], lambda _: CHANGE)
    assert lane.row("A")["phase"] == "done" and lane.row("A")["change"] is None


@pytest.mark.parametrize(
    ("phase", "cure"), [("build", "damascus cancel B, then damascus add B.md"), ("cancelled", "damascus add B.md")]
)
def test_what_is_not_done_is_refused_with_what_to_do_instead(lane: Lane, phase: str, cure: str) -> None:
    lane.add("B")
    if phase == "cancelled":
        people.cancel(lane.db, lane.project.id, "B")
    with pytest.raises(DamascusError, match=cure):
        change(lane, "B")


@pytest.mark.req("A3.4")
def test_rule_4_a_stale_story_is_never_resolved_by_itself(lane: Lane) -> None:
    """By the database: no claim takes it, and no statement can make it ready or leased while it is stale."""
    change(lane)
    assert lane.claim(5) == []
    for state in ("ready", "leased", "waiting"):
        waits = ", wait_kind = 'ci'" if state == "waiting" else ""
        with pytest.raises(psycopg.errors.CheckViolation, match="resting_phases"):
            lane.execute(f"UPDATE work_items SET state = '{state}'{waits} WHERE story_id = 'A'")
    with pytest.raises(psycopg.errors.CheckViolation, match="stale_names_its_change"):
        lane.execute("UPDATE work_items SET change = NULL WHERE story_id = 'A'")
    assert lane.row("A")["phase"] == "stale"


@pytest.mark.req("A3.4")
def test_retry_and_add_are_refused_with_the_right_command(lane: Lane) -> None:
    change(lane)
    with pytest.raises(DamascusError, match="damascus approve A, or take the change back: damascus change --undo A"):
        people.retry(lane.db, lane.project.id, "A")
    with pytest.raises(UsageError, match=r"A is STALE.*damascus change A --why … --spec A.md, then damascus approve A"):
        lane.add("A", title="another")
    assert lane.row("A")["phase"] == "stale"


def test_taken_back_it_is_done_again_and_who_waited_goes_on(lane: Lane) -> None:
    change(lane)
    lane.add("B", depends_on=["A"])
    lane.add("C", scope=["A.py"])
    assert lane.claim(5) == [] and lane.states() == {"A": "stale", "B": "dependency", "C": "scope"}
    assert stale.undo(lane.db, lane.project.id, "a", "Ada") == "A"
    assert lane.states() == {"A": "done", "B": "ready", "C": "ready"} and lane.row("A")["change"] is None
    assert lane.violations() == []
    with pytest.raises(DamascusError, match="A is not STALE"):
        stale.undo(lane.db, lane.project.id, "A", "Ada")


@pytest.mark.req("A3.5")
def test_who_shares_its_files_and_has_not_begun_waits_even_when_another_had_them_first(lane: Lane) -> None:
    """C is at work in A's file when A becomes stale; D wants it too, and does not get it when C is done."""
    lane.add("C", scope=["A.py"])
    working = lane.claim_one()
    change(lane)
    lane.add("D", "E", scope=["A.py"])
    assert lane.claim(5) == []
    lane.land(working)
    assert lane.claim(5) == [], "the file is the stale story's until a person has decided"
    assert sorted(lane.states().items()) == [("A", "stale"), ("C", "done"), ("D", "scope"), ("E", "behind")]
    for name in ("D", "E"):
        row = views.story_row(lane.db, lane.project, name)
        assert (row.blocker, row.blocker_phase) == ("A", "stale"), name
    stale.undo(lane.db, lane.project.id, "A", "Ada")
    assert [item.story_id for item in lane.claim(5)] == ["D"]
    assert lane.violations() == []


@pytest.mark.req("A3.3")
def test_approved_it_starts_at_the_spec_which_has_lost_what_is_to_be_derived(lane: Lane) -> None:
    change(lane)
    before = lane.row("A")
    done = stale.approve(lane.db, lane.project, "A", "Bob")
    row = lane.row("A")
    assert (row["phase"], row["state"], row["run_no"]) == ("spec", "ready", before["run_no"] + 1)
    assert row["fence"] == before["fence"] + 1 and row["file_scope"] == [] and row["pr_url"] is None
    spec = parse_spec(bytes(row["spec"]), rough=True)
    assert spec.missing() == list(done.missing) == ["scope", '"## TDD Plan"', '"## Test Command"']
    assert spec.requirements and spec.may_change == CHANGE.tests and "> prices are in cents" in spec.body
    assert row["change"]["approved_by"] == "Bob" and row["change"]["approved_run"] == row["run_no"]
    assert lane.query("SELECT 1 FROM human_issues WHERE closed_at IS NULL") == []
    assert lane.violations() == []


@pytest.mark.req("A3.3")
def test_with_a_new_spec_scope_plan_and_tests_are_that_ones(lane: Lane) -> None:
    lane.add("B")
    change(lane, new=new_story("A", scope=["other.py"], title="In cents", depends_on=["B"]))
    assert lane.row("A")["title"] == "Story A", "nothing of it counts before it is approved"
    done = stale.approve(lane.db, lane.project, "A", "Bob")
    row = lane.row("A")
    assert done.missing == () and row["title"] == "In cents" and row["file_scope"] == ["other.py"]
    assert row["depends_on"] == [lane.row("B")["id"]]
    assert parse_spec(bytes(row["spec"])).may_change == CHANGE.tests


def test_a_new_spec_that_waits_for_itself_or_for_nobody_is_refused_and_it_stays_stale(lane: Lane) -> None:
    lane.add("B", depends_on=["A"])
    change(lane, new=new_story("A", depends_on=["B"]))
    with pytest.raises(DamascusError, match="closes a circle of dependencies: b waits for it"):
        stale.approve(lane.db, lane.project, "A", "Bob")
    change(lane, new=new_story("A", depends_on=["Z"]))
    with pytest.raises(DamascusError, match="depends on Z, which is not in the queue"):
        stale.approve(lane.db, lane.project, "A", "Bob")
    assert lane.row("A")["phase"] == "stale"


def test_changed_twice_both_reasons_count_and_the_last_spec(lane: Lane) -> None:
    change(lane, new=new_story("A", title="first"))
    change(lane, why="and rounded", tests=("tests/test_b.py",))
    row = lane.row("A")
    assert row["change"]["why"] == "prices are in cents\nand rounded"
    assert row["change"]["tests"] == ["tests/test_a.py::test_price", "tests/test_b.py"]
    assert row["change"]["new_spec"]["text"].count("title: first") == 1
    assert len(lane.query("SELECT 1 FROM human_issues WHERE closed_at IS NULL")) == 1
    assert lane.violations() == []


@pytest.mark.req("A3.3")
def test_landed_again_nothing_is_left_of_the_change(lane: Lane) -> None:
    change(lane, new=new_story("A"))
    stale.approve(lane.db, lane.project, "A", "Bob")
    item = lane.claim_one()
    assert item.change is not None and item.phase == "spec"
    lane.land(item)
    assert lane.row("A")["phase"] == "done" and lane.row("A")["change"] is None
    with pytest.raises(psycopg.errors.CheckViolation, match="done_has_no_change"):
        lane.execute("UPDATE work_items SET change = '{}' WHERE story_id = 'A'")


@pytest.mark.req("A3.4")
@pytest.mark.parametrize("act", ["undo", "cancel"])
@pytest.mark.parametrize("reached", ["spec", "leased", "blocked"])
def test_until_it_has_landed_a_rebuild_is_taken_back_to_what_is_on_main(lane: Lane, reached: str, act: str) -> None:
    was = lane.row("A")
    lane.add("B", depends_on=["A"])
    change(lane, new=new_story("A", scope=["other.py"], title="In cents", priority=0))
    stale.approve(lane.db, lane.project, "A", "Bob")
    if reached != "spec":
        lane.claim_one()
    if reached == "blocked":
        people.retry(lane.db, lane.project.id, "A")
        lane.execute(BLOCKED)
    if act == "undo":
        stale.undo(lane.db, lane.project.id, "A", "Ada")
    else:
        assert people.cancel(lane.db, lane.project.id, "A").phase == "done"
    row = lane.row("A")
    same = (
        *("phase", "state", "title", "priority", "spec", "spec_hash", "spec_path", "file_scope", "depends_on", "spans"),
        *("acceptance", "rough", "pr_url", "candidate", "merged_commit", "change"),
    )
    assert {name: row[name] for name in same} == {name: was[name] for name in same}
    assert lane.states()["B"] == "ready" and lane.query("SELECT 1 FROM human_issues WHERE closed_at IS NULL") == []
    assert [item.story_id for item in lane.claim(5)] == ["B"], "its commit is on main: nobody waits for it"
    assert lane.events("A")[-2:] == ["story.change_undone", "phase.transitioned"] and lane.violations() == []


def test_a_rebuild_that_is_landing_is_past_taking_back(lane: Lane) -> None:
    change(lane, new=new_story("A"))
    stale.approve(lane.db, lane.project, "A", "Bob")
    item = lane.claim_one()
    lane.execute(
        "INSERT INTO journal (item_id, run_no, phase, step, key, status, fence) "
        f"VALUES ({item.id}, {item.run_no}, 'merge', 'land', '', 'intent', {item.fence})"
    )
    with pytest.raises(DamascusError, match="too late to take it back"):
        stale.undo(lane.db, lane.project.id, "A", "Ada")
    assert lane.row("A")["phase"] == "spec"


def test_a_blocked_rebuild_with_a_corrected_spec_still_knows_what_landed(lane: Lane) -> None:
    change(lane, new=new_story("A"))
    stale.approve(lane.db, lane.project, "A", "Bob")
    lane.execute(BLOCKED)
    lane.add("A", title="corrected")
    assert lane.row("A")["title"] == "corrected" and lane.row("A")["change"]["original"]["title"] == "Story A"


@pytest.mark.req("A2.4")
def test_on_stale_halt_stops_everything_until_none_is_stale(lane: Lane) -> None:
    lane.add("B", "C")
    working = lane.claim_one()
    change(lane, halts=True)
    [hold] = lane.query("SELECT halt, reason FROM repo_holds WHERE released_at IS NULL")
    assert hold["halt"] == "stale" and "damascus approve A" in hold["reason"]
    assert lane.claim(5) == [] and lane.row(working.story_id)["wait_kind"] == "hold"
    stale.approve(lane.db, lane.project, "A", "Bob")
    assert lane.query("SELECT 1 FROM repo_holds WHERE released_at IS NULL") == []
    assert {"builder.halted", "builder.resumed"} <= set(lane.events())
    assert len(lane.claim(5)) == 3
    assert lane.violations() == []


def test_cancelled_it_lets_its_files_and_its_halt_go(lane: Lane) -> None:
    change(lane, halts=True)
    lane.add("B", scope=["A.py"])
    people.cancel(lane.db, lane.project.id, "A")
    assert [item.story_id for item in lane.claim(5)] == ["B"]
    lane.add("A", title="again", scope=["z.py"])
    assert lane.row("A")["change"] is None, "what a person adds is no re-derivation"


@pytest.mark.parametrize("act", ["change", "undo", "approve"])
@pytest.mark.req("A3.4")
def test_a_kill_before_the_end_of_an_act_leaves_nothing_of_it(lane: Lane, act: str) -> None:
    """Each is one transaction: whoever dies inside it did nothing."""
    if act != "change":
        change(lane)
    before = snapshot(lane)

    class Killed(Exception):
        pass

    def run(work: Any, **_: Any) -> None:
        def dies(c: Connection) -> None:
            work(c)
            raise Killed

        Database.run(lane.db, dies)

    acts = {
        "change": lambda db: stale.mark_changed(db, lane.project.id, ["A"], lambda _: CHANGE),
        "undo": lambda db: stale.undo(db, lane.project.id, "A", "Ada"),
        "approve": lambda db: stale.approve(db, lane.project, "A", "Ada"),
    }
    dying = type("Dying", (), {"run": staticmethod(run)})()
    with pytest.raises(Killed):
        acts[act](dying)
    assert snapshot(lane) == before


def snapshot(lane: Lane) -> list[Any]:
    tables = ("work_items", "human_issues", "events_outbox", "scope_barriers", "repo_holds", "active_scopes")
    return [lane.query(f"SELECT to_jsonb(t) AS row FROM {table} t ORDER BY t.ctid::text") for table in tables]


def test_the_word_in_the_queue_tells_the_way(lane: Lane) -> None:
    found = queueing.named(lane.db, lane.project, [new_story("A", title="another")])
    assert "or say that it has changed: damascus change A" in queueing.problems([new_story("A", title="x")], found)[0]
