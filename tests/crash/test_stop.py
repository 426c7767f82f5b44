"""A worker that is asked to stop: agents stopped and their work saved, leases returned within 10 s; twice: at once."""

import signal
import threading

import pytest

from damascus.domain.ids import StoryId
from damascus.git.snapshots import Snapshots
from tests.crash.conftest import Fields
from tests.crash.field import WAITING, Field, WorkerProcess
from tests.crash.invariants import check_invariants, check_landed_once
from tests.waiting import LONG, eventually

STUBBORN = "trap '' TERM\n"
LIMIT = LONG


def at_work(fields: Fields, before: str = "") -> tuple[Field, WorkerProcess]:
    """A worker whose agent has written its test and waits for a file."""
    field = fields()
    waiting = field.make_agent(before + WAITING, "waiting")
    field.add("S-1")
    worker = field.start(agent=waiting, signals=True)
    eventually(lambda: field.agent_lines("waits"), 30, "the agent to wait")
    return field, worker


def leases(field: Field) -> int:
    return len(field.yard.query("SELECT 1 FROM leases"))


@pytest.mark.req("D20", "D4")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_the_first_signal_saves_the_agents_work_and_returns_the_lease(fields: Fields, number: signal.Signals) -> None:
    field, worker = at_work(fields)

    worker.signal(number)
    assert worker.end(LIMIT) == 0, worker.told()

    item = field.yard.item("S-1")
    assert (leases(field), item["state"], item["attempts"], item["rescues"]) == (0, "ready", 0, 0)
    saved = Snapshots(field.yard.project.mirror).chain(StoryId("S-1"))
    assert "tests/test_S-1.sh" in field.yard.project.mirror.listing(saved[0].tree).files
    assert field.yard.events("S-1", "item.released")
    field.finish()
    check_landed_once(field, "S-1")
    check_invariants(field)


@pytest.mark.slow
@pytest.mark.req("D20")
def test_an_agent_that_ignores_the_signal_does_not_hold_the_worker_up(fields: Fields) -> None:
    field, worker = at_work(fields, STUBBORN)

    worker.signal(signal.SIGTERM)
    assert worker.end(LIMIT) == 0, worker.told()

    assert (leases(field), field.agent_lines("end")) == (0, 0)


@pytest.mark.req("D20")
def test_the_second_signal_ends_it_at_once(fields: Fields) -> None:
    """As a kill would: the next worker of this host rescues at once, the agent ended with its worker."""
    field, worker = at_work(fields, STUBBORN)
    agent = field.agent_waits()

    worker.signal(signal.SIGTERM)
    eventually(lambda: worker.moments("asked"), 10, "the first signal to be heard")
    worker.signal(signal.SIGTERM)
    assert worker.end(LONG) == 130, worker.told()

    eventually(lambda: not agent.running(), 5, "the agent to be gone")
    field.finish()
    check_landed_once(field, "S-1")
    check_invariants(field)


@pytest.mark.req("D20")
def test_a_signal_never_waits_for_a_lock(field: Field) -> None:
    """The handler runs in the main thread, which may be inside the very lock that it would take."""
    worker = field.yard.worker("true")
    with worker._wake._cond:  # type: ignore[attr-defined]
        asked = threading.Thread(target=worker.stop, daemon=True)
        asked.start()
        asked.join(5)
        assert not asked.is_alive(), "stop() waits for a lock"
    assert worker.stopping()
