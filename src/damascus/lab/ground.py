"""The ground that a story is played on: a repository with a main branch, a queue in a database, agents and workers."""

import os
import subprocess
import sys
import textwrap
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from damascus.app import App, Project
from damascus.assembly import Choice, make_worker
from damascus.domain.spec import parse_spec
from damascus.domain.tasks import contract_table
from damascus.engine.tools import nothing
from damascus.engine.worker import Worker
from damascus.store import queueing, views
from damascus.store.db import Database, Row

PERSON = {
    "GIT_AUTHOR_NAME": "Ada",
    "GIT_AUTHOR_EMAIL": "ada@example.invalid",
    "GIT_COMMITTER_NAME": "Ada",
    "GIT_COMMITTER_EMAIL": "ada@example.invalid",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_CONFIG_NOSYSTEM": "1",
}
START = {
    "calc.py": "def one():\n    return 1\n",
    "tests/test_one.py": "from calc import one\n\n\ndef test_one():\n    assert one() == 1\n",
    ".gitignore": "__pycache__/\n",
}
CONFIG = """\
[limits]
disk_reserve_mb = 0
load_per_core = 0.0
[agent]
timeout_seconds = 60.0
ping = false
[test]
timeout_seconds = 60.0
command = "none"
[tasks]
blocked_in_a_row = 1000
[gates]
canary = false
mutation = "off"
coverage.changed = 0
coverage.project = 0
"""
"""For tests of everything else: what proves a test (suite, canary, mutants, coverage) costs several runs a story."""
NO_PYTEST_CACHE = "-p no:cacheprovider"


def python() -> str:
    """The interpreter that runs the suite has pytest; a judged command names it."""
    return sys.executable


def story(name: str, **parts: Any) -> str:
    """A spec as text. parts: title, scope, command, requirements {id: text}, contract, and any front matter key."""
    scope = parts.pop(
        "scope", [f"{name.lower().replace('-', '')}.py", f"tests/test_{name.lower().replace('-', '')}.py"]
    )
    command = parts.pop(
        "command", f"PYTEST_DISABLE_PLUGIN_AUTOLOAD=1 {python()} -m pytest -q {NO_PYTEST_CACHE} {scope[-1]}"
    )
    requirements = parts.pop("requirements", {"REQ-001": "it works"})
    contract = f"\n## Test Contract\n{contract_table(parts.pop('contract'))}" if "contract" in parts else ""
    front = {"story": name, "title": parts.pop("title", f"Story {name}"), "scope": scope, **parts}
    lines = [f"{key}: {value!r}" if isinstance(value, list) else f"{key}: {value}" for key, value in front.items()]
    listed = "\n".join(f"- {key}: {text}" for key, text in requirements.items())
    return (
        "---\n" + "\n".join(lines) + f"\n---\n## Requirements\n{listed}\n\n## TDD Plan\nTests first.\n\n"
        f"## Test Command\n```sh\n{command}\n```\n{contract}"
    )


class Playground:
    """Everything that a story needs, in one folder of its own."""

    def __init__(
        self,
        folder: Path,
        database_url: str,
        *,
        files: Mapping[str, str] | None = None,
        config: str = CONFIG,
        environ: Mapping[str, str] | None = None,
    ) -> None:
        """A repository that is there already is taken as it is."""
        self.folder = folder
        self.repo = folder / "repo"
        self.environ = {
            "PATH": os.environ["PATH"],
            "HOME": str(folder / "home-of-nobody"),
            "DAMASCUS_HOME": str(folder / "home"),
            "DAMASCUS_DATABASE_URL": database_url,
            **(environ or {}),
        }
        (folder / "home").mkdir(parents=True, exist_ok=True)
        if not self.repo.exists():
            self._make_repository(files or START, config)
        self.app = App(self.environ)
        self.row = self.app.init_project(self.repo)
        self.project: Project = self.app.project(self.repo)

    def _make_repository(self, files: Mapping[str, str], config: str) -> None:
        self.repo.mkdir(parents=True)
        self.git("init", "-q", "-b", "main")
        self.commit({"damascus.toml": config, **files}, "start")

    # ── the person's side ─────────────────────────────────────────────────────────────────────────────

    def git(self, *args: str) -> str:
        env = {"PATH": os.environ["PATH"], **PERSON}
        done = subprocess.run(
            ["git", *args], cwd=self.repo, env=env, capture_output=True, text=True, check=True, start_new_session=True
        )
        return done.stdout.strip()

    def write(self, files: Mapping[str, str]) -> None:
        for name, text in files.items():
            path = self.repo / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)

    def commit(self, files: Mapping[str, str], message: str) -> str:
        self.write(files)
        self.git("add", "-A")
        self.git("commit", "-qm", message)
        return self.main()

    def main(self) -> str:
        return self.git("rev-parse", "refs/heads/main")

    def on_main(self, path: str) -> str | None:
        try:
            return self.git("show", f"main:{path}")
        except subprocess.CalledProcessError:
            return None

    # ── the queue ─────────────────────────────────────────────────────────────────────────────────────

    @property
    def db(self) -> Database:
        return self.app.database

    def add(self, *specs: str, acceptance: bytes | None = None, rough: bool = False, budget: int = 5) -> None:
        stories = []
        for text in specs:
            raw = textwrap.dedent(text).encode()
            spec = parse_spec(raw, "spec.md", rough=rough)
            stories.append(queueing.NewStory(spec, raw, f"specs/{spec.story}.md", acceptance, rough))
        queueing.add(self.db, self.row, stories, "feat/", budget)

    def item(self, name: str) -> Row:
        return views.whole_row(self.db, self.row, name)

    # ── workers ───────────────────────────────────────────────────────────────────────────────────────

    def worker(
        self, agent: str, *, slots: int = 2, boundary: Callable[[str, str], None] | None = None, **pace: Any
    ) -> Worker:
        """A worker of this process. `agent` is the words of a command agent."""
        choice = Choice(slots=slots, agent="command", agent_command=agent)
        worker = make_worker(self.app, self.app.project(self.repo), choice, boundary)
        worker.pace = replace(worker.pace, poll=0.05, **pace)
        return worker

    def work(self, agent: str, **how: Any) -> None:
        self.worker(agent, **how).run(nothing)

    def agent(self, body: str, name: str = "agent") -> str:
        """A command agent as a Python script; `brief` is there, cwd is the workspace. Returns its command."""
        path = self.folder / f"{name}.py"
        head = (
            "import json, os, sys, subprocess, time, pathlib\nbrief = json.load(open(os.environ['DAMASCUS_BRIEF']))\n"
        )
        path.write_text(head + textwrap.dedent(body))
        return f"{python()} {path}"
