"""Stories for the real Claude Code: what a scripted model says, turn by turn, and a yard in which it is said.

with ModelServer() as model:
    yard = claude_yard(tmp_path, database_url)
    yard.add(story("S-1"))
    model.script = builds(yard)
    yard.work(claude(yard, model.url, proof))
"""

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from damascus.assembly import Choice, make_agent
from damascus.domain.ports import Agent
from damascus.system.sandbox import detect, seats_at
from damascus.writes.log import WriteEntry, read
from tests.model_server import Block, Turn, call, say
from tests.yard import CONFIG, NO_PYTEST_CACHE, START, Yard, python

STORY = "S-1"
CODE, TEST = "s1.py", "tests/test_s1.py"
RIGHT = "def value():\n    return 42\n"
ASKS = "from s1 import value\n\n\ndef test_REQ_001_value():\n    assert value() == 42\n"
RUN_TESTS = f"PYTEST_DISABLE_PLUGIN_AUTOLOAD=1 {python()} -m pytest -q {NO_PYTEST_CACHE} {TEST}"


@dataclass(frozen=True)
class Key:
    """How the worker shows itself to a gateway; none for a model server that asks for nothing."""

    url: str
    token: str = ""


def reading(config: str) -> str:
    """The suite's interpreter and its packages may be read in the sandbox: a project's own are in its system."""
    prefixes = ", ".join(f'"{path}"' for path in dict.fromkeys((sys.prefix, sys.base_prefix)))
    return config.replace("[agent]\n", f"[agent]\nreadable = [{prefixes}]\n")


def claude_yard(
    folder: Path, database_url: str, *, config: str = CONFIG, more: str = "", files: dict[str, str] | None = None
) -> Yard:
    """`more` is added to damascus.toml."""
    return Yard(folder, database_url, files=files or START, config=reading(config) + more)


def claude(yard: Yard, gateway: Key | str, proof: Path) -> Agent:
    """The agent as `damascus run` makes it. `proof` is the self-test of this very program, made before."""
    way = Key(gateway) if isinstance(gateway, str) else gateway
    yard.app.environ |= {"ANTHROPIC_BASE_URL": way.url}
    if way.token:
        yard.app.environ |= {"ANTHROPIC_AUTH_TOKEN": way.token}
    shutil.copytree(proof, yard.project.folder / "agent-state", dirs_exist_ok=True)
    return make_agent(yard.app, yard.project, Choice(agent="claude"))


# ── what the model says ───────────────────────────────────────────────────────────────────────────────


def workspace(yard: Yard, name: str = STORY) -> Path:
    return yard.project.worktrees / name


def seen(yard: Yard, name: str = STORY) -> Path:
    """The workspace as the agent sees it."""
    folder = workspace(yard, name)
    return Path(seats_at(detect(), folder, None).inside(folder))


def writes(yard: Yard, path: str, content: str) -> Block:
    return call("Write", file_path=str(seen(yard) / path), content=content)


def runs(command: str) -> Block:
    return call("Bash", command=command, description="run it")


def builds(yard: Yard, *before: Turn) -> list[Turn]:
    """Test, code, a run of the tests, a last word; after what it does `before`."""
    return [
        *before,
        [say("First the test."), writes(yard, TEST, ASKS)],
        [writes(yard, CODE, RIGHT)],
        [runs(RUN_TESTS)],
        [say("Both are there, and the test passes.")],
    ]


# ── what was left ─────────────────────────────────────────────────────────────────────────────────────


def run_folder(yard: Yard, n: int = 1) -> Path:
    """Of the story's run `n`, which is its attempt as long as it only builds."""
    return yard.project.runs / STORY / f"run-{n}"


def logged(yard: Yard, n: int = 1) -> list[WriteEntry]:
    return read(run_folder(yard, n))


def transcript(yard: Yard, n: int = 1) -> str:
    return (run_folder(yard, n) / "transcript.txt").read_text(encoding="utf-8")


def made(yard: Yard) -> dict[str, Any]:
    """What the journal says of the agent's last step."""
    rows = yard.query("SELECT output FROM journal WHERE step = 'implement' ORDER BY run_no")
    output: dict[str, Any] = rows[-1]["output"]
    return output


def rejections(yard: Yard) -> list[tuple[str, str]]:
    found = [event["body"] for event in yard.events(STORY, "attempt.rejected")]
    return [(body["verdict"], body["message"]) for body in found]


def everywhere(yard: Yard, text: str) -> list[str]:
    """Where a text stands: in any object of any repository, in any row, in any file of the data folder."""
    data = text.encode()
    found = [str(path) for path in _files(yard) if data in path.read_bytes()]
    for folder in (yard.repo / ".git", yard.project.mirror.path, yard.project.mirror.store):
        found += [f"{folder}: an object"] if data in _objects(folder) else []
    for row in yard.query("SELECT tablename FROM pg_tables WHERE schemaname = 'public'"):
        name = row["tablename"]
        rows = yard.query(f"SELECT 1 FROM {name} t WHERE strpos(t::text, %s) > 0", text)
        found += [f"table {name}"] if rows else []
    return sorted(found)


def _files(yard: Yard) -> list[Path]:
    return [path for path in yard.folder.rglob("*") if path.is_file() and not path.is_symlink()]


def _objects(git_dir: Path) -> bytes:
    """The contents of all objects, also of those that no ref reaches."""
    words = ["git", "--git-dir", str(git_dir), "cat-file", "--batch-all-objects", "--batch", "--unordered"]
    return subprocess.run(words, env={"PATH": os.environ["PATH"]}, capture_output=True, check=True).stdout
