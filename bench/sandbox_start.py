"""What does a cage cost? `/bin/true` as a step of its own, plain and confined, in turn."""

import statistics
import tempfile
import time
from pathlib import Path

from bench.table import Result
from damascus.system import process
from damascus.system.sandbox import Cage, Level, found, refused_by_landlock

RUNS = 50
MOST = 25.0
ENV = {"PATH": "/usr/bin:/bin"}


def measure() -> list[Result]:
    levels = [level for level in (Level.BUBBLEWRAP, Level.LANDLOCK) if _works(level)]
    with tempfile.TemporaryDirectory(prefix="damascus-bench-") as name:
        folder = Path(name)
        ways = {"plain": None} | {str(level): Cage(level, write=(folder,)) for level in levels}
        times: dict[str, list[float]] = {way: [] for way in ways}
        for cage in ways.values():
            _start(folder, cage)  # the first one looks for the toolchain
        for _ in range(RUNS):
            for way, cage in ways.items():
                times[way].append(_start(folder, cage))
    half = {way: statistics.median(found) for way, found in times.items()}
    return [_result(str(level), half[level], half["plain"]) for level in levels] or [_result("none works", 1e9, 0.0)]


def _works(level: Level) -> bool:
    return found().form is not None if level is Level.BUBBLEWRAP else not refused_by_landlock()


def _start(folder: Path, cage: Cage | None) -> float:
    began = time.perf_counter()
    done = process.run(["/bin/true"], cwd=folder, env=ENV, log=folder / "log", timeout=30, cage=cage)
    assert done.exit_code == 0, done.tail
    return (time.perf_counter() - began) * 1000


def _result(way: str, confined: float, plain: float) -> Result:
    over = confined - plain
    note = f"p50 of {RUNS}: plain {plain:.1f} ms, {way} {confined:.1f} ms, in turn"
    return Result(f"sandbox start over a plain process, {way}, ms", over, f"≤ {MOST:g}", over <= MOST, note)
