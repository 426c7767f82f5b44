"""What halts the builder now. Read by `status`: nothing heavy is imported here. store/halts.py begins and ends it."""

from dataclasses import dataclass
from datetime import datetime

from damascus.domain.halt import HaltReason
from damascus.store.db import Database


@dataclass(frozen=True)
class Halt:
    """Why, since when, and what is told of it. `story`: it concerns that one alone; None: everything."""

    reason: HaltReason
    story: str | None
    since: datetime
    message: str
    issue: int | None


def current(db: Database, project: int) -> list[Halt]:
    """What halts the whole builder first."""
    rows = db.all("view_halts", project=project)
    return [Halt(HaltReason(r["reason"]), r["story_id"], r["since"], r["message"] or "", r["issue"]) for r in rows]
