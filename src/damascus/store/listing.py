"""Stories in pages, newest first: the next page begins below the last id, however many there are."""

from collections.abc import Sequence
from dataclasses import dataclass

from damascus.domain.storable import LARGEST_NUMBER
from damascus.domain.verdict import Phase
from damascus.domain.waits import WaitKind
from damascus.store import views
from damascus.store.db import Database, Row
from damascus.store.projects import ProjectRow
from damascus.store.views import StoryRow

MOST_ENTRIES = 1000


@dataclass(frozen=True)
class StoryFilter:
    """Which stories: of these phases (none: of all), and only those that wait for this."""

    phases: Sequence[Phase] = ()
    wait: WaitKind | None = None


def stories(db: Database, project: ProjectRow, wanted: StoryFilter, before: int | None, limit: int) -> list[StoryRow]:
    """Those that were added before the one with that number, newest first."""
    params = {
        "project": project.id,
        "phases": list(wanted.phases or Phase),
        "before": LARGEST_NUMBER - 1 if before is None else before,
        "limit": limit,
    }
    if wanted.wait is None:
        found = db.all("list_items", **params)
    else:
        found = db.all("list_waiting", **params, wait=wanted.wait)
    return views.rows_of(db, project, [row["id"] for row in found])


def queues(db: Database, project: ProjectRow) -> list[Row]:
    """The merge queues of all repositories, each in order; a queue without entries is one row."""
    return db.all("queues_of_project", project=project.id, limit=MOST_ENTRIES)
