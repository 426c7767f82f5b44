"""Losing the database is no failure of a story: workers reconnect, start our own server again, keep their leases."""

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from damascus.store.embedded.database import EmbeddedServer
from damascus.store.embedded.process import servers_in
from tests.crash.field import WAITING, Field, WorkerProcess
from tests.crash.invariants import check_invariants, check_landed_once
from tests.waiting import eventually

STORIES = tuple(f"S-{n}" for n in range(1, 7))
LEASE = 4.0
SHORT = f"lease_seconds = {LEASE}\nheartbeat_seconds = 0.5\n"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[EmbeddedServer]:
    """A server of this test alone: it will be killed."""
    server = EmbeddedServer(tmp_path / "field" / "home")
    server.home.mkdir(parents=True)
    server.ensure_running()
    yield server
    server.stop()


def field_on(server: EmbeddedServer, url: str, before: str = "", limits: str = "") -> Field:
    """An empty url means: the server in the field's own home is ours to start."""
    field = Field(server.home.parent, url, before=before, limits=limits)
    field.yard.db.patience = 60.0
    return field


def killed(server: EmbeddedServer) -> None:
    pid = server.status().pid
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    eventually(lambda: server.status().pid != pid, 20, "the server to be gone")


@pytest.mark.slow
@pytest.mark.req("D20", "D1")
def test_postgres_is_killed_again_and_again_under_work(server: EmbeddedServer) -> None:
    """The workers themselves start it again; what was committed is there, what was not is done again."""
    field = field_on(server, "")
    field.add(*STORIES)
    worker = field.start(slots=2)
    for moment in ("implement:after_intent", "push:after_effect", "land:after_effect"):
        worker.wait_for(moment)
        killed(server)

    assert worker.end(120) == 0, worker.told()

    for name in STORIES:
        check_landed_once(field, name)
        assert not field.yard.events(name, "item.rescued"), "healthy work was taken away"
    check_invariants(field)
    assert field.agent_lines("start") == len(STORIES), "an agent step that was done ran again"
    field.close()


def stop_and_go(server: EmbeddedServer) -> None:
    server.stop()
    lasts_longer_than_a_lease()
    server.ensure_running()


def hang(server: EmbeddedServer) -> None:
    """No process of the server moves for longer than a lease; no connection is lost."""
    processes = servers_in(server.place.data, server.place.mark)
    for pid in processes:
        os.kill(pid, signal.SIGSTOP)
    lasts_longer_than_a_lease()
    for pid in reversed(processes):
        os.kill(pid, signal.SIGCONT)


def lasts_longer_than_a_lease() -> None:
    end = time.monotonic() + LEASE * 1.5
    eventually(lambda: time.monotonic() > end, LEASE * 2, "time to pass")


@pytest.mark.slow
@pytest.mark.req("D20", "D1")
@pytest.mark.parametrize("outage", [stop_and_go, hang])
def test_an_outage_longer_than_a_lease_ends_no_healthy_work(server: EmbeddedServer, outage: object) -> None:
    """⚑ Two workers, each with an agent at work; each would rescue the other's story if expiry proved anything."""
    assert callable(outage)
    field = field_on(server, server.url(), WAITING, SHORT)
    field.add("S-1", "S-2")
    workers = [field.start(), field.start()]
    eventually(lambda: field.agent_lines("waits") == 2, 30, "both agents to wait")
    held_for_a_while(field, workers)

    outage(server)

    time_for_a_rescue_has_passed(field)
    field.let_go()
    for worker in workers:
        assert worker.end() == 0, worker.told()
    for name in ("S-1", "S-2"):
        assert not field.yard.events(name, "item.rescued"), "healthy work was taken away"
        check_landed_once(field, name)
    assert field.agent_lines("start") == 2
    check_invariants(field)
    field.close()


def held_for_a_while(field: Field, workers: list[WorkerProcess]) -> None:
    """Both rescuers are past the patience that follows their own start."""
    renewed = "SELECT 1 FROM leases WHERE acquired_at < clock_timestamp() - make_interval(secs => %s)"
    eventually(lambda: len(field.yard.query(renewed, LEASE * 1.3)) == 2, 30, "two leases beyond their first term")


def time_for_a_rescue_has_passed(field: Field) -> None:
    """Both leases were renewed after the outage, and rescuers have looked again."""
    renewed = "SELECT 1 FROM leases WHERE expires_at > clock_timestamp() + make_interval(secs => %s)"
    eventually(lambda: len(field.yard.query(renewed, LEASE / 2)) == 2, 30, "both leases to be renewed")
    lasts_longer_than_a_lease()


@pytest.mark.slow
@pytest.mark.req("D20")
def test_a_worker_without_its_database_still_stops_when_it_is_asked(server: EmbeddedServer) -> None:
    field = field_on(server, server.url(), WAITING)
    field.add("S-1")
    worker = field.start(signals=True)
    eventually(lambda: field.agent_lines("waits"), 30, "the agent to wait")
    server.stop()

    worker.signal(signal.SIGTERM)
    assert worker.end(10) == 0, worker.told()

    server.ensure_running()
    field.let_go()
    field.finish()
    check_landed_once(field, "S-1")
    check_invariants(field)
    field.close()
