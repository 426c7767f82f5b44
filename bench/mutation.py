"""What do mutants cost? Five changed functions in a project of forty tests, by the tests that call them."""

import shlex
import sys
import tempfile
import time
from pathlib import Path

from bench import mutation_full
from bench.candidates import candidate_of
from bench.table import Result
from damascus.domain.ports import Candidate, Job
from damascus.evidence.runner import CleanRunner
from damascus.gates.mutation import Mutation
from damascus.gates.runs import job

OLD, CHANGED, MOST = 35, 5, 12.0
COMMAND = f"PYTEST_DISABLE_PLUGIN_AUTOLOAD=1 {shlex.quote(sys.executable)} -m pytest -q -p no:cacheprovider tests"


def measure() -> list[Result]:
    with tempfile.TemporaryDirectory(prefix="damascus-bench-") as name:
        folder = Path(name)
        base, changed = pytest_project()
        candidate, runner = candidate_of(folder, base, changed, COMMAND)
        runner.run(job(candidate, candidate.tree, COMMAND, "tests"))  # the tests are green before any mutant is made
        plain = min(_suite(runner, candidate, folder) for _ in range(3))
        began = time.monotonic()
        result = Mutation(runner).check(candidate)
        taken = time.monotonic() - began
    assert not result.findings, result
    ratio = taken / plain
    note = f"{taken:.2f} s, one run of the suite {plain:.2f} s; {result.evidence[0].summary}"
    bodies = Result("mutants of five functions in 40 tests, × one run", ratio, f"≤ {MOST:g}", ratio <= MOST, note)
    return [bodies, *mutation_full.measure()]


def _suite(runner: CleanRunner, candidate: Candidate, folder: Path) -> float:
    """As a judged run costs it: with its clean checkout and its cage."""
    began = time.monotonic()
    assert runner.run(Job(candidate.tree, COMMAND, 600, "suite", folder / "suite.log", fresh=True)).green
    return time.monotonic() - began


def pytest_project(changed: int = CHANGED) -> tuple[dict[str, str], dict[str, str]]:
    base = {"tests/conftest.py": "", **{path: text for n in range(OLD) for path, text in _module(f"old{n}").items()}}
    return base, {path: text for n in range(changed) for path, text in _module(f"new{n}").items()}


def _module(name: str) -> dict[str, str]:
    return {
        f"{name}.py": f"def {name}(a: int, b: int) -> int:\n    return a * b + 1\n",
        f"tests/test_{name}.py": f"from {name} import {name}\n\n\ndef test_REQ_001_{name}():\n"
        f"    assert {name}(2, 3) == 7\n",
    }
