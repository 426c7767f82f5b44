"""Fenced, scope-checked claim + journal + settle, against pgbench's bare claim and procrastinate's no-op jobs.

All on one server in one run, durable commits, 16 connections, 100,000 ready rows, one project.
"""

import asyncio
import queue as queues
import subprocess
import sys
import tempfile
import threading
import time
from datetime import UTC, datetime, timedelta

from bench import queue_database
from bench.table import Result
from damascus.domain import policy
from damascus.domain.item import Item
from damascus.domain.outcome import Landed
from damascus.store import journal, leases, settle
from damascus.store.db import Database
from damascus.store.embedded import EmbeddedServer
from damascus.store.projects import ProjectRow

ROWS = 100_000
CONNECTIONS = 16
PROCESSES = 2
SECONDS = 8
LEASE = timedelta(seconds=60)
RAW_TABLE = f"""
CREATE TABLE raw_jobs (
    id bigint PRIMARY KEY, priority int NOT NULL DEFAULT 2, state text NOT NULL DEFAULT 'queued', worker text);
INSERT INTO raw_jobs (id) SELECT n FROM generate_series(1, {ROWS}) n;
CREATE INDEX raw_ready ON raw_jobs (priority, id) WHERE state = 'queued';
VACUUM (ANALYZE) raw_jobs;
"""
RAW_CLAIM = """
UPDATE raw_jobs SET state = 'claimed', worker = 'w'
 WHERE id = (SELECT id FROM raw_jobs WHERE state = 'queued' ORDER BY priority, id LIMIT 1 FOR UPDATE SKIP LOCKED);
"""


def measure() -> list[Result]:
    with queue_database.server() as server:
        before = bare_claims(server)
        ours = cycles(server)
        after = bare_claims(server)
        other = procrastinate_jobs(server)
    bare = (before + after) / 2
    note = f"ours {ours:.0f}/s, pgbench {before:.0f} and {after:.0f}/s, {CONNECTIONS} connections, {ROWS} ready"
    return [
        Result("cycles / pgbench's bare claim", ours / bare, "≥ 0.12", ours / bare >= 0.12, note),
        Result(
            "cycles / procrastinate's no-op jobs",
            ours / other,
            "≥ 2",
            ours / other >= 2,
            f"procrastinate {other:.0f}/s",
        ),
    ]


def bare_claims(server: EmbeddedServer) -> float:
    with queue_database.queue(server, 1) as (db, _), tempfile.NamedTemporaryFile("w", suffix=".sql") as script:
        for statement in RAW_TABLE.strip().split(";\n"):
            if statement:
                db.connection().execute(statement.encode())
        script.write(RAW_CLAIM.replace("\n", " "))
        script.flush()
        command = [
            str(server.bin("pgbench")), "-n", "-M", "prepared", "-c", str(CONNECTIONS), "-j", "2", "-T", str(SECONDS),
            "-f", script.name, db.url,
        ]  # fmt: skip
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    line = next(line for line in done.stdout.splitlines() if line.startswith("tps"))
    return float(line.split()[2])


# ── ours ──────────────────────────────────────────────────────────────────────────────────────────────


def cycles(server: EmbeddedServer) -> float:
    """Two worker processes; each claims for all its slots at once, seven threads settle: 16 connections."""
    with queue_database.queue(server, ROWS) as (db, project):
        command = [sys.executable, "-m", "bench.cycles", db.url, str(project.uuid), str(SECONDS)]
        started = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(PROCESSES)]
        done = [float(process.communicate()[0]) for process in started]
        row = db.run(lambda c: c.execute("SELECT count(*) AS n FROM work_items WHERE phase = 'done'").fetchone())
        assert row is not None and row["n"] >= sum(done) * SECONDS * 0.9
    return sum(done)


def work(url: str, uuid: str, seconds: float) -> float:
    """One process: how many cycles a second."""
    from uuid import UUID

    from damascus.store import projects

    db = Database(url, patience=10)
    project = projects.find(db, UUID(uuid))
    assert project is not None
    slots = CONNECTIONS // PROCESSES - 1
    todo: queues.Queue[Item | None] = queues.Queue()
    counts = [0] * slots
    until = time.monotonic() + seconds
    threads = [threading.Thread(target=_settle_all, args=(db, todo, counts, n)) for n in range(slots)]
    for thread in threads:
        thread.start()
    began = time.monotonic()
    _claim_all(db, project, todo, (slots, until))
    for _ in threads:
        todo.put(None)
    for thread in threads:
        thread.join()
    return sum(counts) / (time.monotonic() - began)


def _claim_all(db: Database, project: ProjectRow, todo: "queues.Queue[Item | None]", how: tuple[int, float]) -> None:
    slots, until = how
    while time.monotonic() < until:
        free = 2 * slots - todo.qsize()
        if free < slots:
            time.sleep(0.001)
            continue
        for item in leases.claim(db, project.id, f"bench:{id(todo)}", free, LEASE):
            todo.put(item)


def _settle_all(db: Database, todo: "queues.Queue[Item | None]", counts: list[int], me: int) -> None:
    while (item := todo.get()) is not None:
        cycle(db, item)
        counts[me] += 1


def cycle(db: Database, item: Item) -> None:
    """One effect's `done` with its event under the fence, then the settle."""
    done = journal.Done("push", "x", datetime.now(UTC), {"commit": "b" * 40}, events=(("build.pushed", {}),))

    journal.record_dones(db, item, [done])
    facts: dict[str, object] = {"pr_url": "local://bench/pulls/1"}
    to = policy.decide(item, Landed("b" * 40, "reachable", facts), datetime.now(UTC))
    settle.settle(db, item, to)


# ── procrastinate ─────────────────────────────────────────────────────────────────────────────────────


def procrastinate_jobs(server: EmbeddedServer, jobs: int = 2000) -> float:
    import procrastinate

    with queue_database.queue(server, 1) as (db, _):
        app = procrastinate.App(connector=procrastinate.PsycopgConnector(conninfo=db.url))

        @app.task(name="noop")
        async def noop() -> None:
            return None

        async def go() -> float:
            async with app.open_async():
                await app.schema_manager.apply_schema_async()
                await noop.batch_defer_async(*({} for _ in range(jobs)))
                began = time.monotonic()
                await app.run_worker_async(concurrency=CONNECTIONS, wait=False, install_signal_handlers=False)
                return jobs / (time.monotonic() - began)

        return asyncio.run(go())


if __name__ == "__main__":
    print(work(sys.argv[1], sys.argv[2], float(sys.argv[3])))
