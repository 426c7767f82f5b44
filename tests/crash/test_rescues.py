"""Rescue: at once for a dead process of this host, all or nothing, and not for ever in the same step."""

import threading
from collections.abc import Callable
from datetime import timedelta

import psycopg
import pytest

from damascus.domain.item import Item
from damascus.domain.policy import RESCUE_LIMIT
from damascus.store import leases, people
from damascus.store.journal import DoneStep, write_dones
from tests.crash.field import Field
from tests.crash.invariants import check_invariants, check_landed_once
from tests.crash.worker_process import Act
from tests.waiting import eventually

LEASE = timedelta(seconds=60)


def claimed(field: Field) -> Item:
    return leases.claim(field.yard.db, field.yard.row.id, "other:boot:1:1", 1, LEASE)[0]


def rescued(field: Field) -> str | None:
    item = claimed(field)
    return leases.rescue(field.yard.db, leases.Lease(item.id, item.fence, "other:boot:1:1", True), "a test")


@pytest.mark.req("D20")
def test_a_dead_process_of_this_host_is_found_at_once_without_back_off(field: Field) -> None:
    """The lease would hold for a minute; the free flock proves death."""
    field.add("S-1")
    field.killed(Act("red:before"))

    field.finish()

    (event,) = field.yard.events("S-1", "item.rescued")
    assert event["body"]["why"] == "its process on this host is dead"
    waited = field.yard.query(
        "SELECT max(created_at) - min(created_at) AS gap FROM events_outbox"
        " WHERE kind IN ('item.rescued', 'story.landed')"
    )
    assert waited[0]["gap"] < timedelta(seconds=30)
    check_landed_once(field, "S-1")


@pytest.mark.req("D20")
def test_a_rescuer_that_dies_half_way_has_done_nothing(field: Field) -> None:
    """#34 of the crash matrix: its transaction is rolled back, the next one rescues."""
    field.add("S-1")
    item = claimed(field)
    before = field.yard.query("SELECT * FROM leases"), field.yard.item("S-1"), len(field.yard.events("S-1"))
    half = psycopg.connect(field.url)
    done = half.execute("SELECT rescue_item(%s, %s, 12, 'half')", (item.id, item.fence)).fetchone()
    assert done == ("ready",)

    half.pgconn.finish()  # as a killed process leaves it: no COMMIT, no ROLLBACK, just gone

    eventually(lambda: not others(field), 10, "the server to notice")
    assert (field.yard.query("SELECT * FROM leases"), field.yard.item("S-1"), len(field.yard.events("S-1"))) == before
    assert leases.rescue(field.yard.db, leases.Lease(item.id, item.fence, "", True), "again") == "ready"
    assert leases.rescue(field.yard.db, leases.Lease(item.id, item.fence, "", True), "twice") is None


def others(field: Field) -> list[dict[str, object]]:
    return field.yard.query(
        "SELECT 1 FROM pg_stat_activity"
        " WHERE datname = current_database() AND pid <> pg_backend_pid() AND xact_start IS NOT NULL"
    )


@pytest.mark.req("D20")
def test_of_many_rescuers_exactly_one_takes_an_item(field: Field) -> None:
    field.add("S-1")
    item = claimed(field)
    answers: list[str | None] = []
    lease = leases.Lease(item.id, item.fence, "", True)

    together([lambda: answers.append(leases.rescue(field.yard.db, lease, "race")) for _ in range(8)])

    assert sorted(answers, key=str) == [None] * 7 + ["ready"]
    assert (field.yard.item("S-1")["fence"], len(field.yard.events("S-1", "item.rescued"))) == (2, 1)


def together(works: list[Callable[[], None]]) -> None:
    threads = [threading.Thread(target=work) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


@pytest.mark.req("D20")
def test_twelve_rescues_in_a_row_inside_one_step_block_with_a_question(field: Field) -> None:
    """⚑ Three would block innocent stories; eleven don't."""
    field.add("S-1")

    became = [rescued(field) for _ in range(RESCUE_LIMIT)]

    assert became == ["ready"] * 11 + ["blocked"]
    item = field.yard.item("S-1")
    assert (item["phase"], item["last_verdict"], item["attempts"]) == ("blocked", "worker_crash", 0)
    assert "12 times in a row" in field.yard.questions()[0]
    check_invariants(field)


@pytest.mark.req("D20")
def test_rescues_count_anew_once_a_step_was_finished(field: Field) -> None:
    """In a row means inside one step: a long story on a shaky machine is no reason to bother a person."""
    field.add("S-1")
    for _ in range(11):
        assert rescued(field) == "ready"

    item = claimed(field)
    at = field.yard.query("SELECT clock_timestamp() AS now")[0]["now"]
    field.yard.db.run(lambda c: write_dones(c, item, [DoneStep("red", "", at, {})]))
    assert leases.rescue(field.yard.db, leases.Lease(item.id, item.fence, "", True), "next step") == "ready"

    assert [rescued(field) for _ in range(11)] == ["ready"] * 10 + ["blocked"]


@pytest.mark.req("D20")
def test_a_persons_retry_starts_the_count_anew(field: Field) -> None:
    field.add("S-1")
    for _ in range(RESCUE_LIMIT):
        rescued(field)

    people.retry(field.yard.db, field.yard.row.id, "S-1")

    assert rescued(field) == "ready"
    field.finish()
    assert field.yard.item("S-1")["phase"] == "done"


@pytest.mark.slow
@pytest.mark.req("D20")
def test_a_step_that_takes_its_worker_down_every_time(field: Field) -> None:
    """The same with real deaths. The heir that finds it blocked is not harmed."""
    field.add("S-1")
    for n in range(RESCUE_LIMIT):
        assert field.yard.item("S-1")["phase"] == "build", f"blocked after {n}"
        field.killed(Act("red:before"))

    field.add("S-2")
    field.finish()

    assert [field.yard.item(name)["phase"] for name in ("S-1", "S-2")] == ["blocked", "done"]
    assert field.agent_lines("start") == 2, "an agent step that was done ran again"
    check_invariants(field)
