"""What the ledger tells: the latest landings, what they cost and waited for, what was caught.

Everything is of the latest `RECENT` landings and rejections: they say most, and a long history slows nothing down.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from damascus.domain.waits import WaitKind
from damascus.store.db import Database, Row
from damascus.store.projects import ProjectRow

RECENT = 200
REJECTIONS = 1000
MOST_WAITING = 1000


@dataclass(frozen=True)
class LandedStory:
    """A story on main. `microdollars` None: a model without a price had a part in it."""

    item_id: int
    story_id: str
    created_at: datetime
    first_attempted_at: datetime | None
    landed_at: datetime
    rejected: int
    tokens: int
    microdollars: int | None


@dataclass(frozen=True)
class Summed:
    """How often, and how many seconds in all."""

    name: str
    times: int
    seconds: float


def landings(db: Database, project: ProjectRow) -> list[LandedStory]:
    """The latest first."""
    return [LandedStory(**row) for row in db.all("ledger_landed", project=project.id, limit=RECENT)]


def rejections(db: Database, project: ProjectRow) -> list[Row]:
    """The latest first."""
    return db.all("ledger_rejections", project=project.id, limit=REJECTIONS)


def waited(db: Database, items: Sequence[int]) -> list[Summed]:
    """By what was waited for, the longest first."""
    rows = db.all("ledger_waited", items=list(items))
    return [Summed(row["kind"] or "unknown", row["times"], row["seconds"] or 0.0) for row in rows]


def steps(db: Database, items: Sequence[int]) -> list[Summed]:
    """By step, the longest first."""
    rows = db.all("ledger_steps", items=list(items))
    return [Summed(row["step"], row["times"], row["seconds"] or 0.0) for row in rows]


def waits_now(db: Database, project: ProjectRow) -> list[Summed]:
    """Who waits at this moment; of one kind at most `MOST_WAITING` are told."""
    kinds = [kind.value for kind in WaitKind]
    rows = db.all("ledger_waits_now", project=project.id, kinds=kinds, most=MOST_WAITING)
    return [Summed(row["kind"], row["stories"], row["seconds"] or 0.0) for row in rows]


def open_stories(db: Database, project: ProjectRow) -> int:
    """Not at rest: what is finished is not counted."""
    row = db.one("ledger_open", project=project.id)
    return int(row["n"]) if row else 0
