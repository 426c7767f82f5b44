"""Checks every logged write of a story again, with today's rules."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from damascus.app import Project
from damascus.domain.scope import Scope
from damascus.scanning.scanner import Scanner
from damascus.store import views
from damascus.store.db import Database, Row
from damascus.telling.phrases import plural
from damascus.writes.bounds import Bounds
from damascus.writes.replay import Replayed
from damascus.writes.replay import replay as replayed


@dataclass(frozen=True)
class ReplayedStory:
    """Each write with its verdict then and now."""

    story: str
    writes: list[Replayed]

    @property
    def differ(self) -> int:
        return sum(each.differs for each in self.writes)

    @property
    def said(self) -> str:
        same = f"{plural(self.differ, 'write')} judged differently" if self.differ else "every verdict is the same"
        return f"{plural(len(self.writes), 'write')}: {same}."

    def published(self) -> dict[str, Any]:
        """The keys that programs read."""
        return {"story_id": self.story, "writes": [_published(each) for each in self.writes], "differ": self.differ}


def replay(db: Database, project: Project, story: str, first: int) -> ReplayedStory:
    """From the write of this number on."""
    row = views.whole_row(db, project.row, views.story_row(db, project.row, story).story_id)
    name = row["story_id"]
    scanner = Scanner.quick()  # the one that judged them
    try:
        return ReplayedStory(name, list(replayed(_runs(project.runs / name), _bounds(project, row), scanner, first)))
    finally:
        scanner.close()


def _bounds(project: Project, row: Row) -> Bounds:
    protected = (row["spec_path"],) if row["spec_path"] else ()
    patterns = tuple(project.config.test.patterns)
    return Bounds(Scope(tuple(row["file_scope"])), "", protected=protected, test_patterns=patterns)


def _runs(folder: Path) -> list[Path]:
    """The runs' folders with a log, in order."""
    numbers = {path: re.fullmatch(r"run-(\d+)", path.name) for path in folder.glob("run-*")}
    runs = sorted((int(match.group(1)), path) for path, match in numbers.items() if match)
    return [path for _, path in runs]


def _published(each: Replayed) -> dict[str, Any]:
    entry = each.entry.model_dump()
    return {"number": each.number, "then": each.then, "now": each.now or None, "differs": each.differs,
            "note": each.note, "entry": entry}  # fmt: skip
