"""The claim: who may start, in which order, and that what can't start never stands in the way."""

import threading

import pytest

from damascus.domain.errors import UsageError
from damascus.domain.feedback import VerdictFeedback
from damascus.domain.outcome import NeedsPerson, Rejected, Wait
from damascus.domain.verdict import Verdict
from damascus.store import people
from damascus.store.db import Database
from tests.store.lane import Lane, item_of, waits_for_a_lock
from tests.waiting import eventually


@pytest.fixture
def lane(db: Database) -> Lane:
    return Lane(db)


@pytest.mark.req("D1", "D2")
def test_a_claim_takes_a_lease_a_fence_the_scope_and_mains_tip(lane: Lane) -> None:
    lane.add("S-1", scope=["a.py", "tests/"])
    item = lane.claim_one("w7")
    row = lane.row("S-1")
    assert (item.story_id, item.fence, item.base_commit) == ("S-1", 1, "a" * 40)
    assert (row["state"], row["claims"], row["attempts"]) == ("leased", 1, 0)
    assert row["first_attempted_at"] is not None
    [lease] = lane.query("SELECT * FROM leases")
    assert (lease["item_id"], lease["fence"], lease["worker_id"]) == (item.id, 1, "w7")
    assert len(lane.query("SELECT * FROM active_scopes")) == 2
    assert lane.events("S-1") == ["story.added", "item.claimed"]
    assert lane.claim() == []


@pytest.mark.req("D2")
def test_the_row_carries_what_a_story_is(lane: Lane) -> None:
    wanted = [
        "id",
        "project",
        "story_id",
        "title",
        "file_scope",
        "spec_path",
        "phase",
        "branch",
        "base_commit",
        "pr_url",
        "attempts",
        "budget_cycles",
        "last_verdict",
        "last_feedback",
        "first_attempted_at",
        "created_at",
        "updated_at",
        "uuid",
        "priority",
        "depends_on",
        "not_before",
        "wait_kind",
        "wait_key",
        "resume_phase",
        "fence",
        "run_no",
        "spec",
        "spec_hash",
        "claims",
    ]
    lane.add("S-1", title="Say hello", priority=1)
    row = lane.row("S-1")
    assert [name for name in wanted if name not in row] == []
    assert (row["title"], row["branch"], row["spec_path"], row["priority"]) == ("Say hello", "feat/S-1", "S-1.md", 1)


@pytest.mark.req("D17")
def test_urgent_stories_go_first_and_an_old_one_is_not_overtaken_for_ever(lane: Lane) -> None:
    lane.add("late", priority=3)
    lane.add("usual")
    lane.add("urgent", priority=0)
    lane.execute("UPDATE work_items SET deadline_at = deadline_at - interval '25 hours' WHERE story_id = 'late'")
    assert [lane.claim_one().story_id for _ in range(3)] == ["late", "urgent", "usual"]


@pytest.mark.req("D17")
def test_250_parked_stories_do_not_hide_a_free_one(lane: Lane) -> None:
    """⚑ A fixed window starves behind 250 stories that wait for one busy file."""
    lane.add("busy", scope=["one.py"], priority=0)
    lane.claim_one()
    lane.bulk("wants-", 250, "one.py", deadline="now() - interval '1 hour'")
    lane.add("free", scope=["two.py"])
    assert [item.story_id for item in lane.claim()] == ["free"]
    assert lane.query("SELECT count(*) AS n FROM work_items WHERE state = 'ready'") == [{"n": 0}]
    assert lane.violations() == []


@pytest.mark.req("D17")
def test_freeing_a_file_that_5000_stories_want_wakes_one_not_all(lane: Lane) -> None:
    lane.add("busy", scope=["one.py"], priority=0)
    busy = lane.claim_one()
    lane.bulk("wants-", 5000, "one.py", deadline="now() + interval '1 hour'")
    assert lane.claim() == []
    counted = "SELECT wait_kind, count(*) AS n FROM work_items WHERE state = 'waiting' GROUP BY 1 ORDER BY 2"
    assert lane.query(counted) == [
        {"wait_kind": "scope", "n": 1}, {"wait_kind": "behind", "n": 4999},
    ]  # fmt: skip
    lane.land(busy)
    [woken] = lane.query("SELECT count(*) AS n FROM work_items WHERE state = 'ready'")
    assert 1 <= woken["n"] <= 2
    assert [lane.claim_one().story_id for _ in range(1)] == ["wants-1"]
    assert lane.violations() == []


@pytest.mark.req("D17")
def test_a_wide_story_among_narrow_ones_is_not_starved(lane: Lane) -> None:
    """Once overdue it reserves its scope: nobody with a later deadline slips in before it."""
    lane.add("one", scope=["src/a.py"])
    one = lane.claim_one()
    lane.add("wide", scope=["src/"])
    assert lane.claim() == []
    lane.execute("UPDATE work_items SET deadline_at = now() - interval '31 minutes' WHERE story_id = 'wide'")
    lane.add("two", scope=["src/b.py"])
    two = lane.claim_one()
    assert two.story_id == "two"  # not overdue when it was parked: no reservation yet
    lane.land(one)
    assert lane.claim() == []  # it waits for `two` and, overdue now, reserves
    lane.add("three", scope=["src/c.py"], priority=0)
    assert lane.claim() == []
    assert lane.states() == {"one": "done", "wide": "scope", "two": "leased", "three": "scope"}
    assert lane.violations() == []
    lane.land(two)
    wide = lane.claim_one()
    assert wide.story_id == "wide"
    lane.land(wide)
    assert lane.claim_one().story_id == "three"


@pytest.mark.req("D17")
def test_a_follower_with_an_earlier_deadline_goes_first(lane: Lane) -> None:
    lane.add("busy", scope=["a.py"], priority=0)
    busy = lane.claim_one()
    lane.add("usual", scope=["a.py"], priority=3)
    assert lane.claim() == []
    lane.add("urgent", scope=["a.py"], priority=1)
    assert lane.claim() == []
    assert lane.states() == {"busy": "leased", "usual": "behind", "urgent": "scope"}
    lane.land(busy)
    assert lane.claim_one().story_id == "urgent"
    assert lane.violations() == []


@pytest.mark.req("D17")
def test_a_dependency_inside_one_scope_does_not_deadlock(lane: Lane) -> None:
    lane.add("base", scope=["a.py"], priority=3)
    lane.add("next", scope=["a.py"], depends_on=["base"], priority=0)
    lane.add("last", scope=["a.py"], depends_on=["next"], priority=0)
    done = []
    for _ in range(3):
        item = lane.claim_one()
        assert lane.claim() == []
        done.append(item.story_id)
        lane.land(item)
        assert lane.violations() == []
    assert done == ["base", "next", "last"]


def test_a_dependency_parked_behind_its_dependent_is_found(lane: Lane) -> None:
    """The dependent stands first in line for the file, the dependency behind it: somebody must let it through."""
    lane.add("busy", scope=["a.py"], priority=0)
    busy = lane.claim_one()
    lane.add("base", scope=["a.py"], priority=3)
    lane.add("other", scope=["z.py"], priority=3)
    lane.add("next", scope=["a.py"], priority=0)
    base = "SELECT id FROM work_items WHERE story_id = 'base'"
    lane.execute(f"UPDATE work_items SET depends_on = ARRAY[({base})] WHERE story_id = 'next'")
    lane.claim(5)
    lane.land(busy)
    assert lane.claim_one().story_id == "base"
    assert lane.violations() == []


def test_a_dependency_that_is_not_done_parks_and_landing_wakes(lane: Lane) -> None:
    lane.add("base")
    lane.add("next", depends_on=["BASE"])
    base = lane.claim_one()
    assert lane.claim() == []
    assert lane.states()["next"] == "dependency"
    lane.settle(base, Rejected(Verdict.TESTS_FAILED, VerdictFeedback()))
    assert [i.story_id for i in lane.claim(2)] == ["base"]
    lane.settle(item_of(lane, "base"), NeedsPerson(None, "?", ("a",), VerdictFeedback()))
    assert lane.claim() == [] and lane.states()["next"] == "dependency"
    people.retry(lane.db, lane.project.id, "base")
    lane.land(lane.claim_one())
    assert lane.claim_one().story_id == "next"


@pytest.mark.parametrize(
    ("names", "front", "said"),
    [
        (["A"], {"depends_on": ["nobody"]}, "depends on nobody, which is neither"),
        (["A"], {"depends_on": ["A"]}, "in a circle: A → A"),
        (["A", "a"], {}, "both describe the story"),
    ],
)
def test_unknown_dependencies_circles_and_twins_are_refused(
    lane: Lane, names: list[str], front: dict[str, object], said: str
) -> None:
    with pytest.raises(UsageError, match=said):
        lane.add(*names, **front)
    assert lane.states() == {} and lane.events() == []


def test_a_story_in_the_queue_is_refused_and_nothing_of_the_command_is_queued(lane: Lane) -> None:
    lane.add("A")
    with pytest.raises(UsageError, match="in the queue already"):
        lane.add("B", "a")
    assert lane.states() == {"A": "ready"}


def test_a_replaced_spec_that_closes_a_circle_is_refused_and_nothing_changed(lane: Lane) -> None:
    lane.add("A")
    lane.add("B", depends_on=["A"])
    people.cancel(lane.db, lane.project.id, "A")
    with pytest.raises(UsageError, match="circle"):
        lane.add("A", depends_on=["B"])
    assert lane.states()["A"] == "cancelled"
    assert "story.replaced" not in lane.events()


def test_a_replaced_story_has_a_new_run_a_new_budget_and_the_same_id(lane: Lane) -> None:
    lane.add("A", scope=["a.py"])
    item = lane.claim_one()
    lane.settle(item, Rejected(Verdict.NO_PR, VerdictFeedback()))
    people.cancel(lane.db, lane.project.id, "A")
    lane.add("a", scope=["b.py"], title="Again")
    row = lane.row("A")
    assert (row["attempts"], row["title"], row["file_scope"], row["phase"]) == (0, "Again", ["b.py"], "build")
    assert row["run_no"] > item.run_no and row["fence"] > item.fence and row["last_verdict"] is None
    assert lane.claim_one().id == item.id


def test_a_hold_parks_and_its_release_wakes(lane: Lane) -> None:
    lane.add("working", scope=["a.py"])
    lane.add("ready", scope=["b.py"])
    lane.add("same", scope=["b.py"])
    working = lane.claim_one()
    people.hold(lane.db, lane.project.id, lane.project.repo_id, "main is broken")
    assert lane.claim(5) == []
    assert lane.states() == {"working": "hold", "ready": "hold", "same": "hold"}
    assert lane.violations() == []
    assert lane.row("working")["fence"] > working.fence  # a person's command shuts the worker out
    people.release_hold(lane.db, lane.project.id, lane.project.repo_id)
    assert sorted(item.story_id for item in lane.claim(5)) == ["ready", "working"]
    assert [kind for kind in lane.events() if kind.startswith("repo.")] == ["repo.held", "repo.released"]
    assert lane.violations() == []


def test_a_held_story_keeps_its_scope_and_a_waiting_one_too(lane: Lane) -> None:
    lane.add("waits", scope=["a.py"])
    lane.settle(lane.claim_one(), Wait("ci", "sha", after=None))
    people.hold(lane.db, lane.project.id, lane.project.repo_id, "x")
    people.release_hold(lane.db, lane.project.id, lane.project.repo_id)
    lane.add("other", scope=["a.py"])
    assert lane.claim(5) == []
    assert lane.states() == {"waits": "ci", "other": "scope"}


def test_a_retried_story_gives_up_what_it_reserved(lane: Lane) -> None:
    """Its deadline begins anew: with the old reservation two stories would wait for each other."""
    lane.add("busy", scope=["src/a.py"])
    lane.add("wide", scope=["src/"])
    lane.add("wider", scope=["src/", "docs/"])
    busy = lane.claim_one()
    for n, name in enumerate(("wide", "wider")):
        text = (
            "UPDATE work_items SET deadline_at = now() - interval '10 hours' + %s * interval '1 s' WHERE story_id = %s"
        )
        lane.execute(text, n, name)
    assert lane.claim() == []
    assert len(lane.query("SELECT DISTINCT item_id FROM scope_barriers")) == 2
    people.retry(lane.db, lane.project.id, "wide")
    assert lane.claim() == []
    lane.land(busy)
    first = lane.claim_one()
    assert first.story_id == "wider"
    lane.land(first)
    assert lane.claim_one().story_id == "wide"
    assert lane.violations() == []


def test_a_story_that_is_retried_while_it_is_replaced_is_refused(lane: Lane, database_url: str) -> None:
    lane.add("A")
    people.cancel(lane.db, lane.project.id, "A")
    other = Database(database_url)
    person = other.connection()
    said: list[BaseException] = []

    def replace() -> None:
        try:
            lane.add("A", title="Again")
        except BaseException as err:
            said.append(err)

    with person.transaction():
        person.execute("UPDATE work_items SET phase = 'build', state = 'ready' WHERE story_id = 'A'")
        adding = threading.Thread(target=replace)
        adding.start()
        eventually(lambda: not adding.is_alive() or waits_for_a_lock(person), what="the add")
    adding.join(20)
    other.close()
    assert [type(err) for err in said] == [UsageError] and "Nothing was queued" in str(said[0])
    assert lane.row("A")["title"] == "Story A"
