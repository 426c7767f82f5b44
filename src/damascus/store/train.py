"""The merge queues of a project as people see them: the cars in order, who comes next, how long it took others."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from damascus.domain.merge_queue import EntryState
from damascus.store import views
from damascus.store.db import Database, Row
from damascus.store.projects import ProjectRow
from damascus.store.views import StoryRow

MOST = 200
RECENT = 50
"""Landed stories that an estimate looks at."""


@dataclass(frozen=True)
class Car:
    """A story in a merge queue; `commit`, which is exactly what main will be, sits on `base`."""

    item_id: int
    repo_id: int
    repo: str
    target: str
    pos: int
    base: str
    commit: str
    state: EntryState
    entered_at: datetime
    width: int
    story_id: str
    title: str
    phase: str
    item_state: str
    pr_url: str | None
    attempts: int
    step: str | None
    progress: dict[str, Any] | None
    main_sha: str | None
    ci_since: datetime | None

    @classmethod
    def of(cls, row: Row) -> "Car":
        return cls(**{**row, "state": EntryState(row["state"])})


@dataclass(frozen=True)
class Durations:
    """Seconds that CI took the latest landed stories, and the way from there to main; each None where none is known."""

    ci: float | None
    landing: float | None
    known: int


def cars(db: Database, project: ProjectRow) -> list[Car]:
    return [Car.of(row) for row in db.all("train", project=project.id, limit=MOST)]


def behind(db: Database, project: ProjectRow, limit: int = 50) -> list[StoryRow]:
    """Who comes next."""
    return views.rows_of(db, project, [row["id"] for row in db.all("train_behind", project=project.id, limit=limit)])


def durations(db: Database, project: ProjectRow) -> Durations:
    rows = db.all("train_durations", project=project.id, limit=RECENT)
    return Durations(_median([row["ci"] for row in rows]), _median([row["landing"] for row in rows]), len(rows))


def _median(values: list[float]) -> float | None:
    ordered = sorted(values)
    return ordered[len(ordered) // 2] if ordered else None
