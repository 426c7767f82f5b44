"""A person's command against a running worker: the fence grows, the worker's next write is refused (D20)."""

import signal
from typing import Any

import pytest

from damascus.domain.errors import DamascusError
from damascus.store import people
from tests.crash.conftest import Fields
from tests.crash.field import WAITING, Field, WorkerProcess
from tests.crash.invariants import check_invariants, check_landed_once
from tests.crash.worker_process import Act
from tests.waiting import eventually

QUICK = "lease_seconds = 2.0\nheartbeat_seconds = 0.2\n"
HELD_AT = ("implement:after_effect", "push:after_intent", "propose:after_effect", "settle:before")


def held(field: Field, when: str) -> WorkerProcess:
    worker = field.start(Act(when, "stop"))
    worker.wait_stopped()
    return worker


def goes_on(worker: WorkerProcess) -> None:
    worker.signal(signal.SIGCONT)
    assert worker.end() == 0, worker.told()


def row(field: Field) -> dict[str, Any]:
    return field.yard.item("S-1")


@pytest.mark.req("D20", "D21")
@pytest.mark.parametrize("when", HELD_AT)
def test_cancel_shuts_the_worker_out(field: Field, when: str) -> None:
    """⚑ The command deletes the lease and raises the fence."""
    field.add("S-1")
    worker = held(field, when)

    acted = people.cancel(field.yard.db, field.yard.row.id, "S-1")
    assert (acted.was_leased, row(field)["phase"]) == (True, "cancelled")
    before = row(field), len(field.yard.events("S-1"))
    goes_on(worker)

    assert (row(field), len(field.yard.events("S-1"))) == before
    assert worker.moments("fenced")
    assert not field.commits_on_main("S-1")
    check_invariants(field)


@pytest.mark.req("D20", "D21")
@pytest.mark.parametrize("when", HELD_AT)
def test_retry_starts_a_new_run_and_the_old_one_writes_nothing(field: Field, when: str) -> None:
    field.add("S-1")
    worker = held(field, when)
    old = row(field)

    acted = people.retry(field.yard.db, field.yard.row.id, "S-1")
    assert (acted.was_leased, row(field)["run_no"]) == (True, old["run_no"] + 1)
    goes_on(worker)

    assert worker.moments("fenced")
    assert row(field)["phase"] == "done"
    written = field.yard.query("SELECT max(fence) AS fence FROM journal WHERE run_no = %s", old["run_no"])
    assert written[0]["fence"] in (None, old["fence"])
    assert len(field.yard.events("S-1", "story.landed")) == 1
    check_invariants(field)


@pytest.mark.req("D20", "F14")
@pytest.mark.parametrize("point", ["after_intent", "after_effect"])
def test_a_command_that_comes_too_late_says_so(field: Field, point: str) -> None:
    """⚑ Once the landing has recorded its intent main may have moved: nothing is changed, the story lands."""
    field.add("S-1")
    worker = held(field, f"land:{point}")
    before = row(field)

    with pytest.raises(DamascusError, match="too late to cancel"):
        people.cancel(field.yard.db, field.yard.row.id, "S-1")
    with pytest.raises(DamascusError, match="landing on main at this moment"):
        people.retry(field.yard.db, field.yard.row.id, "S-1")

    assert row(field) == before
    goes_on(worker)
    with pytest.raises(DamascusError, match="is done already"):
        people.cancel(field.yard.db, field.yard.row.id, "S-1")
    check_landed_once(field, "S-1")
    check_invariants(field)


@pytest.mark.req("D20", "F14")
def test_too_late_also_holds_when_the_landing_worker_is_dead(field: Field) -> None:
    field.add("S-1")
    field.killed(Act("land:after_effect"))

    with pytest.raises(DamascusError, match="too late to cancel"):
        people.cancel(field.yard.db, field.yard.row.id, "S-1")

    field.finish()
    check_landed_once(field, "S-1")


@pytest.mark.req("D20")
def test_cancel_ends_the_agent_and_its_slot_is_free(fields: Fields) -> None:
    """Nobody waits for what it would write: not twenty minutes, one heartbeat."""
    field = fields(limits=QUICK)
    field.add("S-1")
    waiting = field.make_agent(WAITING, "waiting")
    worker = field.start(agent=waiting)
    agent = field.agent_waits()

    people.cancel(field.yard.db, field.yard.row.id, "S-1")

    eventually(lambda: not agent.running(), 10, "the agent to be ended")
    assert worker.end() == 0, worker.told()
    assert field.agent_lines("end") == 0
    check_invariants(field)


@pytest.mark.req("D20")
def test_a_worker_that_claims_its_own_retried_story_again_keeps_that_lease(fields: Fields) -> None:
    """The slot that lost the story ends later than the new one begins; it must not let go of the new lease."""
    field = fields(limits=QUICK)
    field.add("S-1")
    worker = field.start(agent=field.make_agent(WAITING, "waiting"), slots=2)
    eventually(lambda: field.agent_lines("waits"), 30, "the agent to wait")

    people.retry(field.yard.db, field.yard.row.id, "S-1")
    eventually(lambda: field.agent_lines("waits") == 2 and worker.moments("fenced"), 30, "both slots")

    eventually(lambda: field.yard.query(
        "SELECT 1 FROM leases WHERE acquired_at < clock_timestamp() - interval '3 s' AND expires_at > clock_timestamp()"
    ), 10, "a lease that outlives its first term")  # fmt: skip
    field.let_go()
    assert worker.end() == 0, worker.told()
    assert row(field)["phase"] == "done"
    assert not field.yard.events("S-1", "item.rescued")
    check_invariants(field)
