"""What does a checked write cost? A 200-line file through the pipeline, against the bare write in the same run."""

import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from bench.table import Result
from damascus.domain.config import WritesConfig
from damascus.domain.scope import Scope
from damascus.scanning.scanner import Scanner
from damascus.writes.bounds import Bounds
from damascus.writes.checks import Checks
from damascus.writes.compile_check import Compiler
from damascus.writes.log import Origin, WriteLog
from damascus.writes.pipeline import Pipeline

LINES, RUNS = 200, 50
LIMIT, GOAL = 60.0, 40.0


def measure() -> list[Result]:
    with tempfile.TemporaryDirectory(prefix="damascus-bench-") as name:
        folder = Path(name)
        scanner = Scanner.quick()
        try:
            scanner.warm()
            bare = _median(lambda n: _write(folder / "bare.py", n))
            checked = _through(folder / "checked", scanner, compiled=False)
            whole = _through(folder / "whole", scanner, compiled=True)
        finally:
            scanner.close()
    note = f"p50 of {RUNS}, {LINES} lines; the bare write {bare:.2f} ms in the same run"
    wanted = f"≤ {LIMIT:.0f} (goal {GOAL:.0f})"
    return [
        Result("write through scan, scope, role and log, ms", checked, wanted, checked <= LIMIT, note),
        Result("the same with compile check and SAST begun, ms", whole, wanted, whole <= LIMIT, note),
    ]


def _through(workspace: Path, scanner: Scanner, *, compiled: bool) -> float:
    (workspace / "src").mkdir(parents=True)
    runs = workspace.with_name(f"{workspace.name}-run")
    bounds = Bounds(Scope(("src/",)), "code-implementer")
    origin = Origin(story="S-1", run=1, attempt=1, step="implement", role="code-implementer")
    settings = WritesConfig(gate="policy", compile=compiled, sast=compiled)
    compiler = Compiler(workspace, scanner, workspace.with_name("cache"))
    pipeline = Pipeline(workspace, origin, Checks(bounds, scanner), WriteLog(runs), settings, compiler=compiler)

    def one(n: int) -> None:
        path = workspace / "src" / f"module_{n}.py"
        given = {"file_path": str(path), "content": _text(n)}
        assert pipeline.propose("Write", given).allowed
        _write(path, n)
        assert pipeline.applied("Write", given) == ""

    took = _median(one)
    pipeline.finish()
    return took


def _write(path: Path, n: int) -> None:
    path.write_text(_text(n))


def _text(n: int) -> str:
    """Ordinary code; another one each time, so that nothing is known already."""
    block = "def value_{0}_{1}(argument: int, other: str = 'text') -> str:\n    total = argument * {1}\n" + (
        "    name = f'{{other}}: {{total}}'  # what is shown\n    return name\n\n"
    )
    return "".join(block.format(n, each) for each in range(LINES // 5))


def _median(one: Callable[[int], None]) -> float:
    times = []
    for n in range(RUNS):
        began = time.monotonic()
        one(n)
        times.append((time.monotonic() - began) * 1000)
    return statistics.median(times)
