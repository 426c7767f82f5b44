"""A worker whose clock is wrong by ten minutes: leases and back-off follow the database's clock alone (D20, T2)."""

import signal
from datetime import timedelta

import pytest

from tests.crash.conftest import Fields
from tests.crash.field import WAITING
from tests.crash.invariants import check_invariants, check_landed_once
from tests.crash.worker_process import Act
from tests.waiting import eventually

LEASE = "lease_seconds = 1.5\nheartbeat_seconds = 0.3\n"
SKEWS = (-600.0, 600.0)
SECOND = timedelta(seconds=1)


@pytest.mark.req("D20")
@pytest.mark.parametrize("skew", SKEWS)
def test_neither_early_nor_late(fields: Fields, skew: float) -> None:
    """It falls asleep; an heir whose clock is wrong the other way takes over when the lease has run out, not before."""
    field = fields(limits=LEASE)
    field.add("S-1")
    zombie = field.start(Act("red:before", "stop"), skew=skew)
    zombie.wait_stopped()
    ends = field.yard.query("SELECT expires_at FROM leases")[0]["expires_at"]

    heir = field.start(skew=-skew)
    assert heir.end() == 0, heir.told()

    rescued = field.yard.query("SELECT created_at FROM events_outbox WHERE kind = 'item.rescued'")[0]["created_at"]
    assert timedelta(0) <= rescued - ends < 20 * SECOND
    zombie.signal(signal.SIGCONT)
    assert zombie.end() == 0, zombie.told()
    check_landed_once(field, "S-1")
    check_invariants(field)


@pytest.mark.slow
@pytest.mark.req("D20")
@pytest.mark.parametrize("skew", SKEWS)
def test_a_healthy_worker_is_left_alone_whatever_its_clock_says(fields: Fields, skew: float) -> None:
    field = fields(limits=LEASE)
    waiting = field.make_agent(WAITING, "waiting")
    field.add("S-1")
    worker = field.start(agent=waiting, skew=skew)
    field.agent_waits()
    right = field.start(agent=waiting)
    outlived = (
        "SELECT 1 FROM leases WHERE acquired_at < clock_timestamp() - interval '5 s' AND expires_at > clock_timestamp()"
    )
    eventually(lambda: field.yard.query(outlived), 30, "a lease that is renewed beyond three terms")

    field.let_go()
    for each in (worker, right):
        assert each.end() == 0, each.told()
    assert not field.yard.events("S-1", "item.rescued")
    check_landed_once(field, "S-1")


@pytest.mark.req("T2", "D20")
@pytest.mark.parametrize("skew", SKEWS)
def test_back_off_and_journal_are_told_in_the_databases_time(fields: Fields, skew: float) -> None:
    """The agent says twice that its provider is away: the next looks come one and two seconds later."""
    field = fields(before='[ $(grep -c "^start code" $log) -gt 2 ] || exit 75')
    field.add("S-1")

    field.finish(skew=skew)

    retries = field.yard.query(
        "SELECT created_at, (body ->> 'not_before')::timestamptz AS until FROM events_outbox"
        " WHERE kind = 'phase.transient_retry' ORDER BY id"
    )
    claims = field.yard.query("SELECT created_at FROM events_outbox WHERE kind = 'item.claimed' ORDER BY id")
    assert [round((r["until"] - r["created_at"]) / SECOND, 0) for r in retries] == [1, 2]
    assert all(claim["created_at"] >= r["until"] for claim, r in zip(claims[1:], retries, strict=True))
    took = field.yard.query(
        "SELECT min(done_at - started_at) AS least, max(done_at - started_at) AS most FROM journal"
    )[0]
    assert timedelta(0) <= took["least"] and took["most"] < timedelta(seconds=60)
    check_landed_once(field, "S-1")
