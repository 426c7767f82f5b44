"""Lease and fence: the fence alone is safety, expiry only permits rescue."""

import threading
from datetime import timedelta
from pathlib import Path

import pytest

from damascus.domain.errors import DamascusError, Fenced
from damascus.domain.feedback import VerdictFeedback
from damascus.domain.ids import Sha
from damascus.domain.item import Item
from damascus.domain.outcome import GivenBack, NeedsPerson, Rejected, Wait
from damascus.domain.policy import RESCUE_LIMIT
from damascus.domain.verdict import Phase, Verdict
from damascus.engine.maintenance.rescuer import Rescuer
from damascus.store import journal, leases, merge_queue, people
from damascus.store.db import Connection, Database
from tests.store.lane import LEASE, Lane, waits_for_a_lock
from tests.waiting import eventually


@pytest.fixture
def lane(db: Database) -> Lane:
    return Lane(db)


@pytest.fixture
def second(database_url: str):  # type: ignore[no-untyped-def]
    other = Database(database_url)
    yield other
    other.close()


def everything(lane: Lane) -> dict[str, list[dict[str, object]]]:
    tables = ("work_items", "leases", "active_scopes", "journal", "events_outbox", "human_issues", "worker_records")
    return {table: lane.query(f"SELECT * FROM {table} ORDER BY 1") for table in tables}


@pytest.mark.req("D20")
def test_a_zombie_writes_nothing(lane: Lane) -> None:
    lane.add("S")
    zombie = lane.claim_one("w1")
    lane.expire(zombie)
    assert lane.rescue() == ["ready"]
    heir = lane.claim_one("w2")
    assert heir.fence > zombie.fence + 1 - 1 and heir.run_no == zombie.run_no
    before = everything(lane)
    for outcome in (Rejected(Verdict.NO_PR, VerdictFeedback()), GivenBack(), Wait("ci", "x", timedelta(1))):
        with pytest.raises(Fenced):
            lane.settle(zombie, outcome)
    with pytest.raises(Fenced):
        lane.land(zombie)
    with pytest.raises(Fenced):
        lane.put(zombie)
    assert leases.heartbeat(lane.db, {zombie.id: zombie.fence}, LEASE) == set()
    assert everything(lane) == before


@pytest.mark.req("D20")
@pytest.mark.parametrize("command", ["cancel", "retry", "hold"])
def test_a_persons_command_shuts_the_worker_out(lane: Lane, command: str) -> None:
    """⚑ The fence grows at every command of a person that changes a leased item, and the lease is gone."""
    lane.add("S")
    item = lane.claim_one()
    act = {
        "cancel": lambda: people.cancel(lane.db, lane.project.id, "s"),
        "retry": lambda: people.retry(lane.db, lane.project.id, "s"),
        "hold": lambda: people.hold(lane.db, lane.project.id, lane.project.repo_id, "why"),
    }
    act[command]()
    assert lane.row("S")["fence"] > item.fence and lane.query("SELECT * FROM leases") == []
    with pytest.raises(Fenced):
        lane.settle(item, GivenBack())
    assert lane.violations() == []


def test_a_cancel_that_comes_too_late_says_so(lane: Lane) -> None:
    lane.add("S")
    item = lane.claim_one()
    lane.db.run(lambda c: journal.write_intent(c, item, "land", "0.0", {"old": "a", "new": "b"}))
    for act in (people.cancel, people.retry):
        with pytest.raises(DamascusError, match="landing on main at this moment"):
            act(lane.db, lane.project.id, "S")
    lane.land(item)
    with pytest.raises(DamascusError, match="done already"):
        people.cancel(lane.db, lane.project.id, "S")


@pytest.mark.req("D20")
def test_an_expired_lease_that_nobody_took_is_renewed(lane: Lane) -> None:
    """⚑ Database downtime or a closed laptop must not end healthy work."""
    lane.add("S")
    item = lane.claim_one()
    lane.expire(item)
    assert leases.heartbeat(lane.db, {item.id: item.fence}, LEASE) == {item.id}
    assert lane.rescue() == []
    lane.expire(item)
    lane.land(item)  # the fence alone is safety
    assert lane.row("S")["phase"] == "done"


@pytest.mark.req("D20")
def test_rescue_waits_one_lease_time_after_the_servers_start(lane: Lane) -> None:
    lane.add("S")
    lane.expire(lane.claim_one())
    [young] = leases.current(lane.db, timedelta(days=3650))
    [old] = leases.current(lane.db, timedelta(0))
    assert (young.expired, old.expired) == (False, True)


@pytest.mark.req("D20")
def test_rescue_waits_after_a_clock_jump(lane: Lane, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The database's clock ran away from ours (suspend, a corrected clock): an expired lease proves nothing yet."""
    from damascus.engine.maintenance import rescuer as module

    now = [1000.0]
    monkeypatch.setattr(module.time, "monotonic", lambda: now[0])
    rescuer = Rescuer(lane.db, tmp_path, "host:b:1:2", timedelta(0))
    rescuer.lease = timedelta(seconds=60)
    monkeypatch.setattr(leases, "current", lambda db, lease, current=leases.current: current(db, timedelta(0)))
    lane.add("S")
    rescuer.rescue()
    lane.expire(lane.claim_one("elsewhere:b:1:2"))
    now[0] -= 3600  # seen from here, the database's clock went an hour ahead
    assert rescuer.rescue() == 0
    now[0] += 59
    assert rescuer.rescue() == 0
    now[0] += 2
    assert rescuer.rescue() == 1


def test_a_rescuer_leaves_its_own_and_living_leases_alone(lane: Lane, tmp_path: Path) -> None:
    lane.add("mine", "theirs")
    mine, theirs = lane.claim(1, "me:b:1:2")[0], lane.claim(1, "elsewhere:b:1:2")[0]
    rescuer = Rescuer(lane.db, tmp_path, "me:b:1:2", timedelta(0))
    assert rescuer.rescue() == 0
    lane.expire(mine)
    assert rescuer.rescue() == 0
    lane.expire(theirs)
    assert rescuer.rescue() == 1 and lane.states() == {"mine": "leased", "theirs": "ready"}


@pytest.mark.req("D20")
def test_a_rescue_burns_no_attempt_and_keeps_the_run(lane: Lane) -> None:
    lane.add("S")
    item = lane.claim_one()
    lane.expire(item)
    lane.rescue()
    row = lane.row("S")
    assert (row["attempts"], row["run_no"], row["state"], row["rescues"]) == (0, item.run_no, "ready", 1)
    assert lane.events("S")[-1] == "item.rescued"


def test_twelve_rescues_in_a_row_inside_one_step_block(lane: Lane) -> None:
    """⚑ Three would block innocent stories."""
    lane.add("S", scope=["a.py"])
    lane.add("behind", scope=["a.py"])
    became = []
    for _ in range(RESCUE_LIMIT):
        lane.expire(lane.claim_one())
        became += lane.rescue()
    assert became == ["ready"] * 11 + ["blocked"]
    row = lane.row("S")
    assert (row["phase"], row["last_verdict"], row["attempts"], row["resume_phase"]) == (
        "blocked",
        "worker_crash",
        0,
        "build",
    )
    assert lane.events("S")[-3:] == ["blocked.worker_crash", "phase.transitioned", "issue.opened"]
    [issue] = lane.query("SELECT question FROM human_issues WHERE closed_at IS NULL")
    assert "S took its worker down 12 times" in issue["question"]
    assert lane.violations() == []
    assert lane.claim_one().story_id == "behind"


def test_a_step_that_is_done_ends_the_row_of_rescues(lane: Lane) -> None:
    """In a row *inside one step*: a story that moves on between two crashes is innocent."""
    lane.add("S")
    for n in range(RESCUE_LIMIT + 3):
        item = lane.claim_one()
        done = journal.DoneStep(f"step-{n}", "", lane.row("S")["created_at"], {})
        lane.db.run(lambda c, i=item, d=done: journal.write_dones(c, i, [d]))  # type: ignore[misc]
        lane.expire(item)
        assert lane.rescue() == ["ready"]


def test_what_was_claimed_without_learning_of_it_is_given_back_and_told(lane: Lane) -> None:
    lane.add("known", "lost")
    known, lost = lane.claim(2)
    assert leases.give_back_unknown(lane.db, "w1", [known.id]) == 1
    assert lane.states() == {"known": "leased", "lost": "ready"}
    assert lane.events("lost")[-1] == "item.released"
    assert lane.row("lost")["fence"] > lost.fence


@pytest.mark.req("D20")
def test_two_transactions_of_one_item_do_not_deadlock(lane: Lane, second: Database) -> None:
    """⚑ Share locks deadlock with the worker's own second transaction (heartbeat beside a step's commit)."""
    lane.add("S")
    item = lane.claim_one()
    both_in = threading.Barrier(2, timeout=20)
    failed: list[Exception] = []

    def commit(db: Database, first: bool) -> None:
        def work(c: Connection) -> None:
            if first:
                leases.assert_fence(c, item.id, item.fence)
                both_in.wait()
            else:
                both_in.wait()
                leases.assert_fence(c, item.id, item.fence)
            c.execute("UPDATE leases SET expires_at = expires_at WHERE item_id = %s", (item.id,))
            c.execute("UPDATE work_items SET updated_at = now() WHERE id = %s", (item.id,))

        try:
            with db.connection().transaction():
                work(db.connection())
        except Exception as err:
            failed.append(err)

    threads = [threading.Thread(target=commit, args=(db, n == 0)) for n, db in enumerate((lane.db, second))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert failed == []


# ── the merge queue ───────────────────────────────────────────────────────────────────────────────────


def landing_line(lane: Lane, *names: str) -> list[Item]:
    """The first is in a queue for one, the others wait for a place in it."""
    lane.add(*names)
    items = lane.claim(len(names))
    assert lane.put(items[0]) == "in"
    for item in items[1:]:
        assert lane.put(item) == "full"
        lane.wait_to_land(item, lane.line().version)
    return items


def in_line(lane: Lane) -> list[str]:
    names = {row["id"]: row["story_id"] for row in lane.query("SELECT id, story_id FROM work_items")}
    return [names[entry.item] for entry in lane.line().entries]


@pytest.mark.req("W1")
def test_who_leaves_the_queue_makes_room_for_the_next(lane: Lane) -> None:
    first, *_ = landing_line(lane, "one", "two", "three")
    assert lane.states() == {"one": "leased", "two": "landing", "three": "landing"}
    lane.land(first)
    assert (in_line(lane), lane.states()["two"], lane.states()["three"]) == ([], "ready", "landing")
    two = lane.claim_one()
    assert lane.put(two) == "in" and lane.states()["three"] == "landing"
    lane.settle(two, NeedsPerson(None, "?", ("a",), VerdictFeedback()))
    three = lane.claim_one()
    assert (three.story_id, lane.put(three)) == ("three", "in")
    people.cancel(lane.db, lane.project.id, "three")
    assert in_line(lane) == [] and lane.violations() == []


@pytest.mark.req("W1")
def test_only_as_many_come_in_as_there_is_room_in_the_order_of_their_deadlines(lane: Lane) -> None:
    names = [f"S-{n}" for n in range(8)]
    first, *_ = landing_line(lane, *names)
    lane.execute("UPDATE work_items SET deadline_at = now() - interval '1 day' WHERE story_id IN ('S-6', 'S-7')")
    lane.execute("UPDATE queues SET width = 2, most = 4")
    lane.land(first)
    assert [name for name in names if lane.states()[name] == "ready"] == ["S-6", "S-7"]


@pytest.mark.req("W16")
def test_a_rescued_story_keeps_its_place(lane: Lane) -> None:
    first, _ = landing_line(lane, "one", "two")
    lane.expire(first)
    lane.rescue()
    assert (in_line(lane), lane.states()) == (["one"], {"one": "ready", "two": "landing"})


def test_a_wait_for_a_place_that_became_free_meanwhile_is_none(lane: Lane) -> None:
    lane.add("one", "two")
    one, two = lane.claim(2)
    assert (lane.put(one), lane.put(two)) == ("in", "full")
    seen = lane.line().version
    lane.land(one)
    lane.wait_to_land(two, seen)
    assert lane.states()["two"] == "ready"


@pytest.mark.req("W1")
def test_two_at_once_can_not_sit_on_the_same(lane: Lane) -> None:
    lane.add("one", "two", "three")
    one, two, three = lane.claim(3)
    assert lane.put(one, "main", most=4) == "in"
    assert lane.put(two, "main", most=4) == "moved"
    assert lane.put(two, "one on main", most=4) == "in"
    assert lane.put(three, "one on main", most=4) == "moved"
    lane.db.run(lambda c: merge_queue.mark(c, two.id, Sha("two on one on main"), "red"))
    assert lane.put(three, "one on main", most=4) == "in", "who is red is passed by"
    assert in_line(lane) == ["one", "two", "three"]


@pytest.mark.req("W1")
def test_the_window_grows_with_each_landing_and_halves_with_each_that_is_sent_back(lane: Lane) -> None:
    def width() -> int:
        [row] = lane.query("SELECT width FROM queues")
        return int(row["width"])

    lane.add("one", "two", "three")
    one, two, three = lane.claim(3)
    for item in (one, two, three):
        lane.put(item, most=8)
    assert width() == 4
    lane.db.run(lambda c: merge_queue.landed(c, one.id))
    assert width() == 5
    lane.db.run(lambda c: merge_queue.mark(c, two.id, Sha("two on one on main"), "red"))
    lane.settle(two, Rejected(Verdict.CI_FAILED, VerdictFeedback()))
    assert width() == 2
    lane.settle(three, NeedsPerson(None, "?", ("a",), VerdictFeedback()))
    assert width() == 2, "who leaves without being red says nothing about the others"


def test_who_waits_for_a_place_is_not_passed_over_while_a_claim_looks_at_it(lane: Lane, second: Database) -> None:
    """A claim share-locks the row of whoever blocks a story; the wake-up must wait for it, not leave it behind."""
    first, heir = landing_line(lane, "one", "two")
    looking = second.connection()
    with looking.transaction():
        looking.execute("SELECT 1 FROM work_items WHERE id = %s FOR SHARE", (heir.id,))
        settling = threading.Thread(target=lane.land, args=(first,))
        settling.start()
        eventually(lambda: not settling.is_alive() or waits_for_a_lock(looking), what="the settle")
    settling.join(20)
    assert lane.states()["two"] == "ready"


# ── scopes that change ────────────────────────────────────────────────────────────────────────────────


@pytest.mark.req("D17", "D19")
def test_a_refined_scope_is_reserved_anew(lane: Lane) -> None:
    """A rough story with a scope gets another one from its refiner: the old one is free, the new one is asked for."""
    from damascus.domain.outcome import Advance
    from damascus.domain.scope import parse_scope

    lane.add("rough", scope=["a.py"])
    lane.execute("UPDATE work_items SET phase = 'spec', rough = true")
    item = lane.claim_one()
    lane.add("other", scope=["b.py"])
    lane.add("waits", scope=["a.py"])
    other = lane.claim_one()
    assert other.story_id == "other" and lane.claim() == []
    spans = [s.literal() for s in parse_scope(["b.py"]).spans(f"{lane.project.id}/{lane.project.repo_id}")]
    lane.settle(item, Advance(Phase.BUILD, {"spans": spans, "file_scope": ["b.py"], "rough": False}))
    assert [i.story_id for i in lane.claim(3)] == ["waits"]
    assert lane.states() == {"rough": "scope", "other": "leased", "waits": "leased"}
    assert lane.violations() == []
