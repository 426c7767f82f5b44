"""Several repositories of one project, side by side in a folder of the test's own, with one queue and one data folder.

estate = Estate(tmp_path, database_url)
estate.repo("core", {"core.py": "VALUE = 1\n"}, jobs="python check.py")
estate.repo("shop", {…}, needs=["core"], jobs='python check.py "$DAMASCUS_UPSTREAM_CORE"')
"""

import os
import subprocess
import textwrap
from dataclasses import replace
from pathlib import Path
from typing import Any

from damascus.app import App, Project
from damascus.assembly import Choice, make_worker
from damascus.domain.spec import parse_spec
from damascus.engine.tools import nothing
from damascus.engine.worker import Worker
from damascus.store import graph, queueing
from damascus.store.db import Database
from tests.yard import CONFIG, PERSON, python


class Estate:
    def __init__(self, folder: Path, database_url: str) -> None:
        self.folder = folder
        self.environ = {
            "PATH": os.environ["PATH"],
            "HOME": str(folder / "home-of-nobody"),
            "DAMASCUS_HOME": str(folder / "home"),
            "DAMASCUS_DATABASE_URL": database_url,
        }
        (folder / "home").mkdir(parents=True, exist_ok=True)
        self.app = App(self.environ)
        self.first: str | None = None

    # ── repositories ──────────────────────────────────────────────────────────────────────────────────

    def make(
        self, name: str, files: dict[str, str], *, needs: tuple[str, ...] = (), jobs: str = "", more: str = ""
    ) -> Path:
        """A repository with its damascus.toml on main, not yet of any project."""
        self.path(name).mkdir(parents=True)
        self.git(name, "init", "-q", "-b", "main")
        self.commit(
            name, {**files, "damascus.toml": toml(name, needs, jobs, more), ".gitignore": "__pycache__/\n"}, "start"
        )
        return self.path(name)

    def repo(self, name: str, files: dict[str, str], **how: Any) -> Path:
        made = self.make(name, files, **how)
        joins = self.path(self.first) if self.first else None
        self.app.init_project(made, joins=joins)
        self.first = self.first or name
        return made

    def path(self, name: str) -> Path:
        return self.folder / "repos" / name

    def git(self, name: str, *args: str) -> str:
        env = {"PATH": os.environ["PATH"], **PERSON}
        done = subprocess.run(["git", *args], cwd=self.path(name), env=env, capture_output=True, text=True, check=True)
        return done.stdout.strip()

    def commit(self, name: str, files: dict[str, str], message: str) -> str:
        for file, text in files.items():
            place = self.path(name) / file
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(text)
        self.git(name, "add", "-A")
        self.git(name, "commit", "-qm", message)
        return self.main(name)

    def main(self, name: str) -> str:
        return self.git(name, "rev-parse", "refs/heads/main")

    def subjects(self, name: str) -> list[str]:
        return self.git(name, "log", "--format=%s", "main").splitlines()

    # ── the queue ─────────────────────────────────────────────────────────────────────────────────────

    @property
    def db(self) -> Database:
        return self.app.database

    def project(self, name: str) -> Project:
        return self.app.project(self.path(name))

    def add(self, name: str, *specs: str) -> None:
        """As `damascus add` in the repository's folder."""
        parsed = [(parse_spec(text.encode()), text.encode()) for text in map(textwrap.dedent, specs)]
        stories = [queueing.NewStory(spec, raw, f"specs/{spec.story}.md") for spec, raw in parsed]
        queueing.add(self.db, self.project(name).row, stories, "feat/", 5)

    def query(self, text: str, *params: Any) -> list[dict[str, Any]]:
        return self.db.run(lambda c: c.execute(text.encode(), params or None).fetchall())

    def item(self, story: str) -> dict[str, Any]:
        [row] = self.query("SELECT * FROM work_items WHERE story_id = %s", story)
        return row

    def events(self, kind: str) -> list[dict[str, Any]]:
        return self.query("SELECT e.* FROM events_outbox e WHERE kind = %s ORDER BY id", kind)

    def ci(self) -> dict[str, str | None]:
        repos = graph.repos(self.db, self.project(str(self.first)).row.id)
        return {repo.name: "red" if repo.red_since else repo.ci_state for repo in repos}

    def questions(self) -> list[dict[str, Any]]:
        return self.query("SELECT * FROM human_issues WHERE closed_at IS NULL ORDER BY id")

    # ── workers ───────────────────────────────────────────────────────────────────────────────────────

    def worker(self, name: str, agent: str, *, slots: int = 2) -> Worker:
        choice = Choice(slots=slots, agent="command", agent_command=agent)
        worker = make_worker(self.app, self.project(name), choice)
        worker.pace = replace(worker.pace, poll=0.05)
        return worker

    def work(self, name: str, agent: str = "true", **how: Any) -> None:
        self.worker(name, agent, **how).run(nothing)

    def agent(self, body: str, name: str = "agent") -> str:
        path = self.folder / f"{name}.py"
        head = "import json, os, pathlib, subprocess, sys\nbrief = json.load(open(os.environ['DAMASCUS_BRIEF']))\n"
        path.write_text(head + textwrap.dedent(body))
        return f"{python()} {path}"


def toml(name: str, needs: tuple[str, ...] = (), jobs: str = "", more: str = "") -> str:
    said = [f'[project]\nname = "{name}"', CONFIG, f"[repo]\nneeds = {list(needs)!r}", more]
    return "\n".join([*said, f"[ci.jobs]\ntest = '''{jobs}'''" if jobs else ""]) + "\n"
