"""Does a claim stay cheap when the queue grows? One connection, median of many claims."""

import statistics
import time
from datetime import UTC, datetime, timedelta

from bench import queue_database
from bench.table import Result
from damascus.domain import policy
from damascus.domain.outcome import GivenBack
from damascus.store import leases, settle
from damascus.store.db import Database
from damascus.store.embedded.database import EmbeddedServer
from damascus.store.projects import ProjectRow

CLAIMS = 300
LEASE = timedelta(seconds=60)


def measure() -> list[Result]:
    with queue_database.server() as server:
        small = _claims(server, 1_000, parked=0)
        large = _claims(server, 1_000_000, parked=0)
        parked = _claims(server, 100_000, parked=100_000)
        again = _claims(server, 1_000, parked=0)
    base = (small + again) / 2
    note = f"1k rows {small:.2f} and {again:.2f} ms, 1M {large:.2f} ms, 100k with 100k parked {parked:.2f} ms"
    return [
        Result("claim at 1M rows / at 1k", large / base, "≤ 1.5", large / base <= 1.5, note),
        Result("claim beside 100k parked / at 1k", parked / base, "≤ 1.5", parked / base <= 1.5, "same run"),
    ]


def _claims(server: EmbeddedServer, rows: int, *, parked: int) -> float:
    with queue_database.queue(server, rows) as (db, project):
        db.connection().execute("SET synchronous_commit = off")
        if parked:
            _park(db, project, rows, parked)
        times = [_one(db, project) for _ in range(CLAIMS)]
    return statistics.median(times[20:]) * 1000


def _one(db: Database, project: ProjectRow) -> float:
    began = time.perf_counter()
    items = leases.claim(db, project.id, "bench", 1, LEASE)
    took = time.perf_counter() - began
    settle.settle(db, items[0], policy.decide(items[0], GivenBack(), datetime.now(UTC)))
    return took


def _park(db: Database, project: ProjectRow, rows: int, parked: int) -> None:
    """All of these want one file that a story in flight holds; the claim itself parks them, ahead of the rest."""
    owner = f"{project.id}/{project.repo_id}"
    queue_database.fill(db, project, rows + 1, rows + parked)
    db.run(
        lambda c: c.execute(
            "UPDATE work_items SET deadline_at = deadline_at - interval '1 day', "
            "spans = ARRAY[scope_span(%s, %s, '[]')] WHERE id > (SELECT min(id) FROM work_items) + %s - 1",
            (f"{owner}:busy.py", f"{owner}:busy.py", rows),
        )
    )
    leases.claim(db, project.id, "holder", 1, LEASE)
    while leases.claim(db, project.id, "parker", 1, LEASE)[0].id > rows:
        pass
    for statement in ("VACUUM (ANALYZE) work_items", "CHECKPOINT"):
        db.connection().execute(statement.encode())
