"""What does it cost to see which lines ran? The same run with and without a probe, in every stack that is there. A test
takes about ten milliseconds, as tests do; in a suite of much smaller ones the start of the probe counts for more.

In processor time of the command, the least of some rounds: other processes of the machine cost none of it.
"""

import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from bench.overhead import ENV
from bench.table import Result
from damascus.domain.ids import Sha
from damascus.domain.ports import Job
from damascus.evidence.runner import CleanRunner
from damascus.git.mirror import Mirror
from damascus.stacks.coverage import Measuring

ROUNDS, FILES, MOST = 3, 40, 1.4
TIMES = re.compile(r"(\d+)m(\d+\.\d+)s")


@dataclass(frozen=True)
class Project:
    name: str
    command: str
    files: dict[str, str]
    asked: bool
    """Is it held to the limit, or only printed?"""


def measure() -> list[Result]:
    return [result for project in _projects() if (result := _measured(project)) is not None]


def _measured(project: Project) -> Result | None:
    with tempfile.TemporaryDirectory(prefix="damascus-bench-") as name:
        folder = Path(name)
        runner, tree = _checkout(folder, project.files)
        try:
            plain = min(_cost(runner, tree, project, folder, probe=False) for _ in range(ROUNDS))
            looked = min(_cost(runner, tree, project, folder, probe=True) for _ in range(ROUNDS))
        except NotMeasuredError as err:
            return Result(f"lines that ran, {project.name}", 0.0, "printed", True, f"not measured: {err}")
    ratio = looked / plain
    note = f"processor time {plain:.2f} s, looked at {looked:.2f} s"
    wanted = f"≤ {MOST:g}" if project.asked else "printed"
    return Result(
        f"lines that ran, {project.name}, × the plain run", ratio, wanted, not project.asked or ratio <= MOST, note
    )


class NotMeasuredError(Exception):
    pass


def _cost(runner: CleanRunner, tree: Sha, project: Project, folder: Path, *, probe: bool) -> float:
    measuring = Measuring.of(project.files) if probe else None
    timed = f"{project.command}; ended=$?; times; exit $ended"
    run = runner.run(Job(tree, timed, 600, "run", folder / "run.log", fresh=True, probe=measuring))
    if run.exit_code != 0:
        raise NotMeasuredError(f"exit {run.exit_code}: {run.output[-300:]}")
    if measuring is not None:
        lines = measuring.lines(lambda path: project.files.get(path, "").encode())
        if not any(lines.files) or lines.why_not:
            raise NotMeasuredError(", ".join(lines.why_not.values()) or "nothing was seen")
    return _processor(run.output)


def _processor(output: str) -> float:
    """The shell's own word about its children: its last line."""
    spent = TIMES.findall(output)[-2:]
    return sum(60 * float(minutes) + float(seconds) for minutes, seconds in spent)


def _checkout(folder: Path, files: dict[str, str]) -> tuple[CleanRunner, Sha]:
    repo = folder / "repo"
    for path, content in files.items():
        (repo / path).parent.mkdir(parents=True, exist_ok=True)
        (repo / path).write_text(content)
    for words in (["init", "-q", "-b", "main"], ["add", "-A"], ["commit", "-qm", "x"]):
        subprocess.run(["git", *words], cwd=repo, env=ENV, check=True)
    mirror = Mirror.open(folder / "mirror.git", str(repo))
    mirror.fetch()
    told = subprocess.run(["git", "rev-parse", "HEAD"], cwd=repo, env=ENV, check=True, capture_output=True, text=True)
    return CleanRunner(mirror, folder / "checkouts"), mirror.tree(Sha(told.stdout.strip()))


# ── the projects ──────────────────────────────────────────────────────────────────────────────────────


def _projects() -> list[Project]:
    found = [_python(path, version) for path, version in _pythons()]
    if shutil.which("node"):
        found.append(Project("node --test", "node --test", _node(), asked=True))
    if shutil.which("go"):
        found.append(Project("go test", "go test ./...", _go(), asked=False))
    if shutil.which("cargo"):
        found.append(Project("cargo test", "cargo test --offline", _rust(), asked=False))
    return found


def _pythons() -> list[tuple[str, tuple[int, int]]]:
    """This one, and the newest others that are in PATH or beside pyenv's."""
    places = [sys.executable, *(found for minor in range(8, 16) if (found := shutil.which(f"python3.{minor}")))]
    places += [str(one) for one in Path("~/.pyenv/versions").expanduser().glob("3.*/bin/python3")]
    found: dict[tuple[int, int], str] = {}
    for place in places:
        said = subprocess.run([place, "--version"], capture_output=True, text=True)
        version = re.match(r"Python 3\.(\d+)", said.stdout)
        if version and int(version[1]) >= 8:
            found.setdefault((3, int(version[1])), place)
    return [(place, version) for version, place in sorted(found.items())]


def _python(path: str, version: tuple[int, int]) -> Project:
    files = {"tests/__init__.py": ""}
    for n in range(FILES):
        files[f"m{n}.py"] = (
            f"def work(a):\n    total = {n}\n    for i in range(a):\n        total += i % 7\n    return total\n"
        )
        files[f"tests/test_m{n}.py"] = (
            f"import unittest\nfrom m{n} import work\n\n\nclass T(unittest.TestCase):\n    def test_work(self):\n"
            f"        self.assertEqual(work(5), {n + 10})\n        self.assertGreater(work(200000), 0)\n"
        )
    name = f"Python {version[0]}.{version[1]}"
    return Project(name, f"{path} -m unittest discover -s tests -t .", files, asked=version >= (3, 12))


def _node() -> dict[str, str]:
    files = {"package.json": '{"type": "module"}\n'}
    for n in range(8):
        files[f"m{n}.mjs"] = (
            f"export function work(a) {{\n  let total = {n};\n  for (let i = 0; i < a; i++) total += i % 7;\n"
            "  return total;\n}\n"
        )
        files[f"m{n}.test.mjs"] = (
            "import test from 'node:test';\nimport assert from 'node:assert';\n"
            f"import {{ work }} from './m{n}.mjs';\n"
            f"test('work', () => {{ assert.equal(work(5), {n + 10}); work(2e6); }});\n"
        )
    return files


def _go() -> dict[str, str]:
    files = {"go.mod": "module example.com/m\n\ngo 1.21\n"}
    for n in range(8):
        loop = "\tfor i := 0; i < a; i++ {\n\t\ttotal += i % 7\n\t}\n"
        files[f"m{n}.go"] = f"package m\n\nfunc Work{n}(a int) int {{\n\ttotal := {n}\n{loop}\treturn total\n}}\n"
        files[f"m{n}_test.go"] = (
            f'package m\n\nimport "testing"\n\nfunc TestWork{n}(t *testing.T) {{\n\tif Work{n}(5) != {n + 10} {{\n'
            "\t\tt.Fatal()\n\t}\n}\n"
        )
    return files


def _rust() -> dict[str, str]:
    lock = 'version = 3\n\n[[package]]\nname = "m"\nversion = "0.1.0"\n'
    manifest = '[package]\nname = "m"\nversion = "0.1.0"\nedition = "2021"\n'
    loop = "    for i in 0..a {\n        total += i % 7;\n    }\n"
    code = f"pub fn work(a: u32) -> u32 {{\n    let mut total = 0;\n{loop}    total\n}}\n"
    test = (
        "#[cfg(test)]\nmod tests {\n    #[test]\n    fn works() {\n        assert_eq!(super::work(5), 10);\n    }\n}\n"
    )
    return {"Cargo.toml": manifest, "Cargo.lock": lock, "src/lib.rs": code + test}
