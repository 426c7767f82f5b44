"""How long until a person sees something."""

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench import queue_database
from bench.overhead import ENV, make_repository
from bench.table import Result

ITEMS = 100_000
RUNS = 7


def measure() -> list[Result]:
    damascus = str(Path(sys.executable).with_name("damascus"))
    with tempfile.TemporaryDirectory(prefix="damascus-bench-") as name:
        folder = Path(name)
        env = {**ENV, "DAMASCUS_HOME": str(folder / "home"), "COLUMNS": "120"}
        repo = make_repository(folder, 0.1)
        subprocess.run([damascus, "init", "--yes"], cwd=repo, env=env, check=True, capture_output=True)
        _fill(env, repo)
        bare = _median([sys.executable, "-c", "pass"], repo, env)
        shown = _median([damascus, "status"], repo, env)
        helped = _median([damascus, "--help"], repo, env)
        subprocess.run([damascus, "db", "stop"], cwd=repo, env=env, check=True, capture_output=True)
    note = f"python -c pass {bare:.3f} s in the same run"
    return [
        Result(f"damascus status with {ITEMS} items, s", shown, "≤ 0.6", shown <= 0.6, note),
        Result("damascus --help, s", helped, "≤ 0.25", helped <= 0.25, note),
    ]


def _fill(env: dict[str, str], repo: Path) -> None:
    from damascus.app import App

    app = App({**os.environ, **env})
    queue_database.fill(app.database, app.project(repo).row, 1, ITEMS)
    app.database.close()


def _median(command: list[str], folder: Path, env: dict[str, str]) -> float:
    times = []
    for _ in range(RUNS):
        began = time.monotonic()
        subprocess.run(command, cwd=folder, env=env, check=True, capture_output=True)
        times.append(time.monotonic() - began)
    return statistics.median(times)
