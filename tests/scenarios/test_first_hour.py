"""The first hour of a new user: README's own commands, one after the other, on a public package, from a fresh clone of
this tree, with the real Claude Code. Only on CI, since it needs the package index:
CI=1 pytest tests/scenarios/test_first_hour.py"""

import os
import re
import signal
import subprocess
from pathlib import Path

import pytest

from tests.claude_code import claude_program
from tests.model_server import ModelServer, Turn, call, say
from tests.scenarios.test_public_packages import INDEXES, from_pip

TREE = Path(__file__).resolve().parents[2]
MINUTES = 600.0
PERSON = {"GIT_CONFIG_NOSYSTEM": "1"} | {
    f"GIT_{who}_{what}": value
    for who in ("AUTHOR", "COMMITTER")
    for what, value in (("NAME", "Ada"), ("EMAIL", "ada@example.invalid"))
}
SECTION = re.compile(r"^## On your own repository\n.*?^```console\n(.*?)^```", re.MULTILINE | re.DOTALL)
SPEC = """\
---
story: S-1
title: shouted words
scope: [inflection/__init__.py, test_shouted.py]
---
Words that are shouted.

## Requirements
- REQ-001: `shouted(word)` is the word in capitals with an exclamation mark

## TDD Plan
test_shouted.py, red before the function exists.

## Test Command
```sh
python3 -m pytest -q test_shouted.py
```
"""
WRITES = """\
cat > test_shouted.py <<'EOF'
from inflection import shouted


def test_REQ_001_shouted() -> None:
    assert shouted("hello") == "HELLO!"
EOF
cat >> inflection/__init__.py <<'EOF'


def shouted(word: str) -> str:
    return word.upper() + "!"
EOF
"""
SCRIPT: list[Turn] = [
    [say("Test and code."), call("Bash", command=WRITES, description="write them")],
    [call("Bash", command="python3 -m pytest -q test_shouted.py", description="run them")],
]
pytestmark = [
    pytest.mark.skipif(not os.environ.get("CI"), reason="needs the package index: CI=1 pytest " + __file__),
    pytest.mark.timeout(2 * MINUTES),
]


class Newcomer:
    """Someone with a fresh clone of this tree, a package, and nothing else of ours."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.clone = folder / "damascus"
        ours = {key: value for key, value in os.environ.items() if INDEXES.fullmatch(key)}
        path = f"{self.clone}/.venv/bin:{claude_program().parent}:{os.environ['PATH']}"
        self.environ = ours | PERSON | {"PATH": path, "HOME": str(folder), "COLUMNS": "100"}
        self.environ |= {"DAMASCUS_HOME": str(folder / "data"), "DAMASCUS_LIMITS_LOAD_PER_CORE": "0"}

    def types(self, command: str, at: Path) -> str:
        done = subprocess.run(
            ["sh", "-c", command], cwd=at, env=self.environ, capture_output=True, text=True, timeout=MINUTES
        )
        told = done.stdout + done.stderr
        assert done.returncode == 0, f"$ {command}\n{told}"
        assert "Traceback" not in told, told
        return told

    def works(self, command: str, at: Path, until: str) -> str:
        """`damascus run` goes on looking for work: it is stopped as a person does once all is done."""
        begun = subprocess.Popen(
            ["sh", "-c", f"exec {command}"], cwd=at, env=self.environ, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, start_new_session=True,
        )  # fmt: skip
        assert begun.stdout is not None
        lines = []
        for line in begun.stdout:
            lines.append(line)
            if until in line:
                begun.send_signal(signal.SIGINT)
        assert begun.wait(60) in (0, 130), "".join(lines)
        return "".join(lines)

    def package(self) -> Path:
        (self.folder / "fetched").mkdir()
        found = from_pip(self.folder / "fetched")
        self.types("git init -q -b main && git add -A && git commit -qm start", found)
        (found / "specs").mkdir()
        (found / "specs/S-1.md").write_text(SPEC)
        return found


def of_the_readme() -> list[str]:
    """The commands of its section on a repository of one's own, in their order."""
    found = SECTION.search((TREE / "README.md").read_text("utf-8"))
    assert found is not None, "README.md lacks the section that a newcomer follows"
    return [line.removeprefix("$ ").partition(" #")[0].strip() for line in found[1].splitlines()]


@pytest.mark.req("D19")
def test_the_first_hour(tmp_path: Path) -> None:
    newcomer = Newcomer(tmp_path)
    newcomer.types(f"git clone -q {TREE} damascus", tmp_path)
    newcomer.types("make setup", newcomer.clone)
    package = newcomer.package()
    told: dict[str, str] = {}
    with ModelServer(SCRIPT) as model:
        for command in of_the_readme():
            if command.startswith("export ANTHROPIC_BASE_URL="):
                newcomer.environ["ANTHROPIC_BASE_URL"] = model.url
                continue
            if command == "damascus run":
                told[command] = newcomer.works(command, package, "S-1  done")
            else:
                told[command] = newcomer.types(command, package)
    newcomer.types("damascus db stop", package)

    looked = told["damascus doctor --test"]
    assert "FAIL" not in looked and "green on a clean checkout" in looked
    assert "S-1" in told["damascus add specs/*.md"]
    assert "S-1  done: on main as" in told["damascus run"] and "1 on main" in told["damascus run"]
    assert "1 done today" in told["damascus status"]
    assert "nothing needs you" in told["damascus inbox"].lower()
    assert "def shouted" in newcomer.types("git show main:inflection/__init__.py", package)
    assert newcomer.types("python3 -m pytest -q", package).count("passed") == 1
