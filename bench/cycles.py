"""Fenced, scope-checked claim + journal + settle, against pgbench's bare claim and procrastinate's no-op jobs.

All on one server in one run, durable commits, 16 connections, 100,000 ready rows, one project, every key and check of
the schema in place: what is wanted leaves room for them (docs/decisions/0020-invariants-in-the-database.md).
"""

import asyncio
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from uuid import UUID

from bench import queue_database
from bench.table import Result
from damascus.domain import policy
from damascus.domain.item import Item
from damascus.domain.outcome import Landed
from damascus.store import journal, leases, projects, settle
from damascus.store.db import Database
from damascus.store.embedded.database import EmbeddedServer

ROWS = 100_000
CONNECTIONS = 16
SLOTS = 8
SECONDS = 8
ROUNDS = 3
LEAST_OF_BARE = 0.08
LEAST_OF_OTHER = 1.0
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


@dataclass(frozen=True)
class Round:
    """Claims, cycles and jobs a second, one right after the other."""

    bare: float
    ours: float
    other: float


def measure() -> list[Result]:
    """Medians of several rounds: a machine's speed may change from minute to minute."""
    with queue_database.server() as server:
        rounds = [Round(bare_claims(server), cycles(server), procrastinate_jobs(server)) for _ in range(ROUNDS)]
    note = f"{CONNECTIONS} connections, {ROWS} ready, ours {_listed(r.ours for r in rounds)}/s"
    return [
        _result(
            "cycles / pgbench's bare claim",
            LEAST_OF_BARE,
            [r.ours / r.bare for r in rounds],
            f"{note}, pgbench {_listed(r.bare for r in rounds)}/s",
        ),
        _result(
            "cycles / procrastinate's no-op jobs",
            LEAST_OF_OTHER,
            [r.ours / r.other for r in rounds],
            f"same run, procrastinate {_listed(r.other for r in rounds)}/s",
        ),
    ]


def _result(what: str, least: float, ratios: list[float], note: str) -> Result:
    ratio = statistics.median(ratios)
    return Result(what, ratio, f"≥ {least:g}", ratio >= least, note)


def _listed(numbers: Iterable[float]) -> str:
    return ", ".join(f"{number:.0f}" for number in numbers)


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
    """Sixteen workers, each with a connection and eight slots: it claims for all of them at once."""
    with queue_database.queue(server, ROWS) as (db, project):
        command = [sys.executable, "-m", "bench.cycles", db.url, str(project.uuid), str(SECONDS)]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        started = [subprocess.Popen(command, text=True, **pipes) for _ in range(CONNECTIONS)]
        for process in started:
            assert process.stdout is not None and process.stdout.readline() == "ready\n"
        for process in started:
            assert process.stdin is not None
            process.stdin.write("go\n")
            process.stdin.flush()
        done = [float(process.communicate()[0]) for process in started]
        row = db.run(lambda c: c.execute("SELECT count(*) AS n FROM work_items WHERE phase = 'done'").fetchone())
        assert row is not None and row["n"] >= sum(done) * SECONDS * 0.9
    return sum(done)


def work(url: str, uuid: str, seconds: float) -> float:
    """One worker: how many cycles a second."""
    db = Database(url, patience=10)
    project = projects.find(db, UUID(uuid))
    assert project is not None
    print("ready", flush=True)
    sys.stdin.readline()  # all begin at once, when none is busy with its imports any more
    count, began = 0, time.monotonic()
    while time.monotonic() < began + seconds:
        for item in leases.claim(db, project.id, f"bench:{os.getpid()}", SLOTS, LEASE):
            cycle(db, item)
            count += 1
    return count / (time.monotonic() - began)


def cycle(db: Database, item: Item) -> None:
    """What a claimed item costs at least: a journaled step with its event, and the settle, under the fence.

    A local step's `done` goes with the next transaction, so the two are one, as in the engine.
    """
    done = journal.DoneStep("verify", "x", datetime.now(UTC), {"commit": "b" * 40}, events=(("build.pushed", {}),))
    facts: dict[str, object] = {"pr_url": "local://bench/pulls/1"}
    to = policy.decide(item, Landed("b" * 40, "reachable", facts), datetime.now(UTC))
    settle.settle(db, item, to, dones=[done])


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
