"""What does proof cost? Forty stories with one changed function each, with suite, old tests, canary and mutants.

The measure is the work itself: so many runs of the tests, each as long as one, on so many cores. What is over is ours.
"""

import os
import shlex
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench.overhead import ENV, JOBS, STORIES
from bench.table import Result

PYTEST = f"{shlex.quote(sys.executable)} -m pytest -q -p no:cacheprovider"
CONFIG = f"""\
[limits]
disk_reserve_mb = 0
load_per_core = 0.0
[test]
command = "{PYTEST} tests"
[workspace]
env = ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"]
"""
AGENT = """\
#!/bin/sh
# Story S-7 gets one function and its test.
cat >/dev/null
n=$(sed -n 's/.*"story_id": *"S-\\([0-9]*\\)".*/\\1/p' "$DAMASCUS_BRIEF" | head -n 1)
printf 'def scaled(amount: int) -> int:\\n    return amount * %s\\n' "$n" > "m$n.py"
test='from m%s import scaled\\n\\n\\ndef test_REQ_001_scales():\\n    assert scaled(3) == %s\\n'
printf "$test" "$n" $((3 * n)) > "tests/test_m$n.py"
"""
FACTOR = 1.25


def measure() -> list[Result]:
    with tempfile.TemporaryDirectory(prefix="damascus-bench-") as folder:
        place = Path(folder)
        repo = _repository(place)
        one = _one_run(repo)
        took, runs = _run(place, repo)
    cores = os.cpu_count() or 1
    ratio = took / (runs * one / cores)
    note = f"{STORIES} stories, {runs / STORIES:.1f} runs a story, one {one:.2f} s, wall {took:.1f} s, {cores} cores"
    return [Result("all proofs on, wall time over runs × one run / cores", ratio, f"≤ {FACTOR}", ratio <= FACTOR, note)]


def _repository(folder: Path) -> Path:
    repo = folder / "repo"
    (repo / "tests").mkdir(parents=True)
    (repo / "base.py").write_text("def one() -> int:\n    return 1\n")
    (repo / "tests/test_base.py").write_text("from base import one\n\n\ndef test_one():\n    assert one() == 1\n")
    (repo / "conftest.py").write_text("")
    (repo / "damascus.toml").write_text(CONFIG)
    for args in (("init", "-q", "-b", "main"), ("add", "-A"), ("commit", "-q", "-m", "start")):
        subprocess.run(["git", *args], cwd=repo, env=ENV, check=True)
    agent = folder / "agent"
    agent.write_text(AGENT)
    agent.chmod(0o755)
    return repo


def _one_run(repo: Path) -> float:
    """Of the tests as they are at the start: the least that a run costs."""
    env = {**ENV, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    times = []
    for _ in range(5):
        began = time.monotonic()
        subprocess.run(f"{PYTEST} tests", shell=True, cwd=repo, env=env, check=True, capture_output=True)
        times.append(time.monotonic() - began)
    return statistics.median(times)


def _spec(n: int) -> str:
    return (
        f"---\nstory: S-{n}\ntitle: story {n}\nscope: [m{n}.py, tests/test_m{n}.py]\n---\n## Requirements\n"
        f"- REQ-001: scaled gives {n} times the amount\n\n## TDD Plan\nIts test first.\n\n"
        f"## Test Command\n```sh\n{PYTEST} tests/test_m{n}.py\n```\n"
    )


def _run(folder: Path, repo: Path) -> tuple[float, int]:
    specs = folder / "specs"
    specs.mkdir()
    for n in range(1, STORIES + 1):
        (specs / f"S-{n}.md").write_text(_spec(n))
    damascus = Path(sys.executable).with_name("damascus")
    env = {**ENV, "DAMASCUS_HOME": str(folder / "home"), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}

    def call(*args: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([str(damascus), *args], cwd=repo, env=env, capture_output=True, text=True)

    for args in (("init", "--yes"), ("add", *(str(path) for path in sorted(specs.iterdir())))):
        done = call(*args)
        assert done.returncode == 0, done.stderr
    try:
        began = time.monotonic()
        agent = ("--agent", "command", "--agent-command", str(folder / "agent"))
        done = call("run", "--until-idle", "--slots", str(JOBS), *agent)
        took = time.monotonic() - began
        assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    finally:
        call("db", "stop")
    return took, _runs_made(folder / "home")


def _runs_made(home: Path) -> int:
    """Every run of a judged command leaves its log beside the story's others, those that no agent may read (the
    canary's) aside; what was shared has none of its own."""
    return sum(1 for kept in ("runs", "held-out") for _ in home.rglob(f"{kept}/*/run-*/**/*.log"))
