"""Which done stories are not on main, asked of git at this moment and cheaply (X4).

A main that descends from the one that was last proved proves every story that was proved there: only what was done
since, and what was missing then, is looked at. Any other main (reset, rewritten) is asked about every story, whatever
its age. What was proved last is a file in the data folder: losing it costs one whole look.
"""

import json
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from damascus.domain.ids import Sha
from damascus.git.commands import Git
from damascus.git.patches import patch_ids
from damascus.store.db import Database, Row, database_clock
from damascus.store.projects import ProjectRow

if TYPE_CHECKING:
    from damascus.git.mirror import Mirror

FILE = "proved-main.json"
LOOKS = 5
OVERLAP = timedelta(minutes=10)
"""Whoever became done in a transaction that began before the last look and ended after it is seen by the next."""


@dataclass(frozen=True)
class MainLookedAt:
    """The main that was looked at last, when, how many stories were done then, and which of them it lacked."""

    tip: str = ""
    at: str = ""
    done: int = -1
    missing: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Main:
    """Where to ask: `git` is of a repository that has main's commits, `mirror` has what stories made."""

    db: Database
    project: ProjectRow
    folder: Path
    git: Git
    mirror: "Callable[[], Mirror]"
    tip: Callable[[], Sha]

    def missing(self) -> dict[str, str]:
        """Done stories that main lacks, each with its commit. Nothing is noted that would be news to the alarm."""
        known, found = self.look()
        if found.missing.keys() <= known.missing.keys() and found != known:
            self.note(found)
        return found.missing

    def look(self) -> tuple[MainLookedAt, MainLookedAt]:
        """What was known, and what is true now."""
        known = self._known()
        for _ in range(LOOKS):
            tip = self.tip()
            found = self._looked_at(tip, known)
            if found.missing.keys() <= known.missing.keys() or self.tip() == tip:
                break  # else somebody landed between the look at main and the one at the queue
        return known, found

    def _looked_at(self, tip: Sha, known: MainLookedAt) -> MainLookedAt:
        row = self.db.one("count_done", project=self.project.id)
        done = int(row["n"]) if row else 0
        if (known.tip, known.done) == (tip, done):
            return known
        now = database_clock(self.db)
        further = bool(known.tip) and self._is_ancestor(known.tip, tip)
        since = datetime.fromisoformat(known.at) - OVERLAP if further else None
        who = {"project": self.project.id, "repo": self.project.repo_id}
        rows = self.db.all("done_since", **who, since=since, names=[name.lower() for name in known.missing])
        return MainLookedAt(tip, now.isoformat(), done, self._lacking(rows, tip, known.tip if further else ""))

    def note(self, found: MainLookedAt) -> None:
        aside = self.folder / f".{FILE}.{os.getpid()}"
        aside.write_text(json.dumps(vars(found)))
        aside.replace(self.folder / FILE)

    def _known(self) -> MainLookedAt:
        return last_look(self.folder)

    def _is_ancestor(self, commit: str, tip: Sha) -> bool:
        return commit == tip or self.git.run("merge-base", "--is-ancestor", commit, tip, check=False).code == 0

    def _lacking(self, rows: list[Row], tip: Sha, since: str) -> dict[str, str]:
        """Reachable, or (after a squash or rebase by a person) there by the same patch."""
        asked = {row["story_id"]: row["merged_commit"] for row in rows}
        if not asked:
            return {}
        fresh = (f"^{since}",) if since else ()
        reached = set(self.git.out("rev-list", tip, *fresh).splitlines())
        left = {name: sha for name, sha in asked.items() if sha not in reached}
        left = {name: sha for name, sha in left.items() if not (since and self._is_ancestor(sha, tip))}
        patches = patch_ids(self.git, tip, *fresh) if left else {}
        return {name: sha for name, sha in left.items() if self._patch(sha) not in patches}

    def _patch(self, commit: str) -> str | None:
        """None, which is no patch of main's, where its objects are gone."""
        mirror = self.mirror()
        known = mirror.objects.find([commit])[0] is not None
        return mirror.patch_id(Sha(commit)) if known else None


def last_look(folder: Path) -> MainLookedAt:
    """What was found when main was looked at last, which workers do all the time: no question to git or the queue."""
    try:
        return MainLookedAt(**json.loads((folder / FILE).read_text()))
    except (OSError, ValueError, TypeError):
        return MainLookedAt()
