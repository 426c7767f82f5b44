"""What do the gates cost by themselves, and what when another process judged the same tree before?

A change of thirty files. Canary and mutants run in earnest each time, so they are left out; the run on the base is red
and made again, so the time of commands that were really run is taken off.
"""

import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from uuid import uuid4

from bench import mutation
from bench.candidates import candidate_of
from bench.table import Result
from damascus.domain.ports import Candidate, Job, TestRun
from damascus.evidence import toolchain
from damascus.evidence.keeping import Keeping
from damascus.evidence.runner import CleanRunner
from damascus.gates import gates
from damascus.git.made import LaidBySetup
from damascus.git.mirror import Mirror
from damascus.scanning.scanner import Scanner
from damascus.store import projects
from damascus.store.db import Database
from damascus.store.embedded.database import EmbeddedServer
from damascus.store.evidence import KeptEvidence
from damascus.store.migrate import migrate
from damascus.store.owners import KeptOwners
from damascus.store.screenshots import KeptPictures
from damascus.system.sandbox import detect

FILES = 30
FIRST, AGAIN = 2.0, 0.1


class Timed(CleanRunner):
    """Counts the runs that were made and the time they took."""

    made = 0
    seconds = 0.0

    def _run_once(self, job: Job) -> TestRun:
        began = time.monotonic()
        try:
            return super()._run_once(job)
        finally:
            self.made += 1
            self.seconds += time.monotonic() - began


def measure() -> list[Result]:
    with tempfile.TemporaryDirectory(prefix="damascus-bench-") as name, _database(Path(name)) as kept:
        candidate, mirror = _candidate(Path(name))
        scanner = Scanner()
        keeping = Keeping(kept, b"bench", detect, lambda: LaidBySetup("", {}))
        rounds = [_round(candidate, mirror, scanner, keeping, Path(name)) for _ in range(4)]
        asked = min(_asking(candidate) for _ in range(3))
    first, (again, made, own) = rounds[0], min(rounds[1:])
    note = (
        f"{made} of {first[1]} runs made again, red on the base; {own:.2f} s of processor time; to ask the tools anew "
    )
    return [
        Result("gates, 30 files, s", first[0], f"≤ {FIRST:g}", first[0] <= FIRST, f"beside {first[1]} runs"),
        Result("the same tree judged again, s", again, f"≤ {AGAIN:g}", again <= AGAIN, f"{note}{asked:.2f} s"),
    ]


def _round(
    candidate: Candidate, mirror: Mirror, scanner: Scanner, keeping: Keeping, folder: Path
) -> tuple[float, int, float]:
    """By a runner that remembers nothing: seconds beside the runs, how many were made, and our own processor time."""
    runner = Timed(mirror, folder / "checkouts", keeping=keeping)
    assert isinstance(keeping.runs, KeptEvidence)
    judges = gates(
        runner,
        mirror,
        scanner,
        KeptPictures(keeping.runs.db, keeping.runs.repo),
        KeptOwners(keeping.runs.db, keeping.runs.repo),
    )
    began, used, judged = time.monotonic(), time.process_time(), candidate
    for gate in (*judges.before, *judges.after):
        result = gate.check(judged)
        assert not result.findings, result
        judged = replace(judged, red=result) if gate.name == "red" else judged
    return time.monotonic() - began - runner.seconds, runner.made, time.process_time() - used


def _asking(candidate: Candidate) -> float:
    toolchain.ANSWERS.told.clear()
    began = time.monotonic()
    toolchain.tools_for(candidate.spec.test_command)
    return time.monotonic() - began


def _candidate(folder: Path) -> tuple[Candidate, Mirror]:
    config = f'[test]\ncommand = "{mutation.COMMAND}"\n'
    candidate, _ = candidate_of(folder, *mutation.pytest_project(FILES // 2), mutation.COMMAND, config)
    return candidate, Mirror.open(folder / "mirror.git", str(folder / "repo"))


@contextmanager
def _database(folder: Path) -> Iterator[KeptEvidence]:
    server = EmbeddedServer(folder / "home")
    server.ensure_running()
    db = Database(server.url())
    try:
        migrate(db)
        row = projects.register(db, uuid4(), "bench", str(folder), ("main", "a" * 40), repo=uuid4())
        yield KeptEvidence(db, row.repo_id)
    finally:
        db.close()
        server.stop()
