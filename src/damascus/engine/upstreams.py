"""Checkouts of the repositories that another one needs, so that its commands are run against exact commits of them.

`DAMASCUS_UPSTREAM_<NAME>` names a folder with main's tip of the repository `<name>`: no .git, nobody's to write. Every
judged command and every agent of a repository finds one for each repository that it needs, directly or through others.
"""

import os
import shutil
import time
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from uuid import uuid4

from damascus.domain.errors import DamascusError
from damascus.domain.graph import variable
from damascus.domain.ids import Sha
from damascus.domain.outcome import Wait
from damascus.domain.waits import WaitKind
from damascus.engine.tools import Tools
from damascus.store import graph
from damascus.store.db import Database
from damascus.store.projects import ProjectRow
from damascus.system.sandbox import Level

FOLDER = "as-upstream"
KEEP = 24 * 3600.0
"""A checkout that nobody asked for during a day is not in use."""
SOON = timedelta(seconds=1)
"""The next claim looks again, and parks the item until that main is green."""


def pause(tools: Tools) -> Wait | None:
    """Before anything is pushed or landed: nothing dependent goes out before its dependency is green (W13)."""
    above = tools.upstreams.not_green()
    if above is None:
        return None
    return Wait(
        WaitKind.UPSTREAM, str(above), SOON, "main of a repository that this one needs is not known to be green"
    )


class Upstreams:
    """What one repository needs. `everyone` are the tools of the project's repositories on this host, by number."""

    def __init__(self, db: Database, project: ProjectRow, everyone: Mapping[int, Tools]) -> None:
        self.db = db
        self.project = project
        self.everyone = everyone

    def __call__(self) -> dict[str, Path]:
        return self.at(self.tips())

    def tips(self) -> dict[int, Sha]:
        """Main of each repository that this one needs, as its forge has it now."""
        if not self.project.joined and len(self.everyone) < 2:
            return {}
        needed = graph.graph(self.db, self.project.id).above(self.project.repo_id)
        return {repo: self._tools(repo).forge.main_tip() for repo in sorted(needed)}

    def not_green(self) -> int | None:
        """By what CI said of exactly the tip that its forge has now; a repository without CI can't be waited for."""
        tips = self.tips()
        rows = {row.id: row for row in graph.repos(self.db, self.project.id)} if tips else {}
        for repo, tip in tips.items():
            row = rows[repo]
            if row.red_since or row.ci_state == "pending" or (row.ci_state == "green" and row.ci_sha != tip):
                return repo
        return None

    def at(self, commits: Mapping[int, Sha]) -> dict[str, Path]:
        return {variable(self._tools(repo).project.repo): self._checkout(repo, sha) for repo, sha in commits.items()}

    def _tools(self, repo: int) -> Tools:
        try:
            return self.everyone[repo]
        except KeyError:
            raise DamascusError(
                f"{self.project.repo} needs a repository that this host does not have. See which: damascus graph"
            ) from None

    def _checkout(self, repo: int, sha: Sha) -> Path:
        """Made aside and renamed. Where commands are not confined each gets its own: one could write into it."""
        tools = self._tools(repo)
        below = tools.folder / FOLDER
        place = below / (sha if tools.level != Level.UNCONFINED else f"{sha}-{uuid4().hex[:8]}")
        if place.is_dir():
            os.utime(place)
            return place
        _sweep(below)
        aside = below / f".{uuid4().hex[:12]}"
        tools.mirror.checkout(tools.mirror.tree(sha), aside)
        try:
            aside.rename(place)
        except OSError:  # somebody else made it meanwhile
            shutil.rmtree(aside, ignore_errors=True)
        return place


def _sweep(below: Path) -> None:
    for folder in below.glob("*"):
        if time.time() - folder.stat().st_mtime > KEEP:
            shutil.rmtree(folder, ignore_errors=True)
