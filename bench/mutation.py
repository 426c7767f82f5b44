"""What do mutants cost? Five changed functions in a project of forty tests, by the tests that call them."""

import shlex
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench.overhead import ENV
from bench.table import Result
from damascus.domain.config import parse_config
from damascus.domain.ids import Sha, StoryId
from damascus.domain.ports import Candidate, Job
from damascus.domain.scope import Scope
from damascus.domain.spec import Requirement, Spec
from damascus.gates.evidence import CleanRunner
from damascus.gates.mutation import Mutation
from damascus.gates.runs import job
from damascus.git.mirror import Mirror

OLD, CHANGED, MOST = 35, 5, 12.0
COMMAND = f"PYTEST_DISABLE_PLUGIN_AUTOLOAD=1 {shlex.quote(sys.executable)} -m pytest -q -p no:cacheprovider tests"


def measure() -> list[Result]:
    with tempfile.TemporaryDirectory(prefix="damascus-bench-") as name:
        folder = Path(name)
        candidate, runner = _candidate(folder)
        runner.run(job(candidate, candidate.tree, COMMAND, "tests"))  # the tests are green before any mutant is made
        plain = min(_suite(runner, candidate, folder) for _ in range(3))
        began = time.monotonic()
        result = Mutation(runner).check(candidate)
        taken = time.monotonic() - began
    assert not result.findings, result
    ratio = taken / plain
    note = f"{taken:.2f} s, one run of the suite {plain:.2f} s; {result.evidence[0].summary}"
    return [Result("mutants of five functions in 40 tests, × one run", ratio, f"≤ {MOST:g}", ratio <= MOST, note)]


def _suite(runner: CleanRunner, candidate: Candidate, folder: Path) -> float:
    """As a judged run costs it: with its clean checkout and its cage."""
    began = time.monotonic()
    assert runner.run(Job(candidate.tree, COMMAND, 600, "suite", folder / "suite.log", fresh=True)).green
    return time.monotonic() - began


def _candidate(folder: Path) -> tuple[Candidate, CleanRunner]:
    repo = folder / "repo"
    _write(
        repo, {"tests/conftest.py": "", **{path: text for n in range(OLD) for path, text in _module(f"old{n}").items()}}
    )
    subprocess.run(["git", "init", "-q", "-b", "main"], cwd=repo, env=ENV, check=True)
    base = _commit(repo)
    _write(repo, {path: text for n in range(CHANGED) for path, text in _module(f"new{n}").items()})
    commit = _commit(repo)
    mirror = Mirror.open(folder / "mirror.git", str(repo))
    mirror.fetch()
    scope = Scope(("**",))
    spec = Spec(StoryId("S-1"), "a story", scope, test_command=COMMAND, requirements=(Requirement("REQ-001", "it"),))
    candidate = Candidate(
        commit=commit,
        tree=mirror.tree(commit),
        base=base,
        changed=mirror.changed(base, commit),
        spec=spec,
        scope=scope,
        config=parse_config('[test]\ncommand = "none"\n'),
        read=mirror.read,
        files=lambda treeish: mirror.listing(treeish).files,
        logs=folder / "logs",
        private_logs=folder / "private",
    )
    return candidate, CleanRunner(mirror, folder / "checkouts")


def _module(name: str) -> dict[str, str]:
    return {
        f"{name}.py": f"def {name}(a: int, b: int) -> int:\n    return a * b + 1\n",
        f"tests/test_{name}.py": f"from {name} import {name}\n\n\ndef test_REQ_001_{name}():\n"
        f"    assert {name}(2, 3) == 7\n",
    }


def _write(repo: Path, files: dict[str, str]) -> None:
    for path, content in files.items():
        (repo / path).parent.mkdir(parents=True, exist_ok=True)
        (repo / path).write_text(content)


def _commit(repo: Path) -> Sha:
    for words in (["add", "-A"], ["commit", "-qm", "x"]):
        subprocess.run(["git", *words], cwd=repo, env=ENV, check=True)
    done = subprocess.run(["git", "rev-parse", "HEAD"], cwd=repo, env=ENV, check=True, capture_output=True, text=True)
    return Sha(done.stdout.strip())
