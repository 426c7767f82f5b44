"""SHIP in the database: declared once at a time, nothing new is begun, and a verdict with the receipt that it is of."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from damascus.domain.events import Event, EventKind
from damascus.domain.halt import HaltReason
from damascus.domain.release import ReleaseReceipt
from damascus.store.db import Connection, Database, jsonb, sql
from damascus.store.journal import write_events


@dataclass(frozen=True)
class Ship:
    """A declaration that was not taken back. `verdict` None: main is still to be verified."""

    id: int
    declared_by: str
    note: str
    declared_at: datetime
    verdict: str | None
    receipt: dict[str, Any] | None


def current(db: Database, project: int) -> Ship | None:
    row = db.one("open_ship", project=project)
    return Ship(**row) if row else None


def declare(db: Database, project: int, by: str, note: str) -> bool:
    """Nothing new is begun from here on, and who works is stopped with its work saved. False: somebody has declared."""

    def work(c: Connection) -> bool:
        c.execute(sql("graph_lock"), {"project": project})
        if c.execute(sql("declare_ship"), {"project": project, "by": by, "note": note}).fetchone() is None:
            return False
        reason = f"SHIP was declared by {by}" + (f": {note}" if note else "")
        c.execute(sql("halt_project"), {"project": project, "halt": HaltReason.SHIP, "reason": reason, "item": None})
        told: Event = (EventKind.SHIP_DECLARED, {"by": by, "note": note})
        write_events(c, project, None, (told,))
        return True

    return db.run(work)


def verified(db: Database, project: int, ship: Ship, receipt: ReleaseReceipt) -> bool:
    """The verdict with its receipt. False: another was first, or it was taken back meanwhile."""

    def work(c: Connection) -> bool:
        params = {"ship": ship.id, "verdict": receipt.verdict, "receipt": jsonb(receipt.model_dump(mode="json"))}
        if c.execute(sql("verified_ship"), params).fetchone() is None:
            return False
        reason = f"SHIP was declared by {ship.declared_by}, and the verdict on main is {receipt.verdict}"
        c.execute(sql("tell_ship"), {"project": project, "reason": reason})
        commits = {repo.repo: repo.commit for repo in receipt.repositories}
        told: Event = (EventKind.SHIP_VERIFIED, {"verdict": receipt.verdict.value, "commits": commits})
        write_events(c, project, None, (told,))
        return True

    return db.run(work)


def undo(db: Database, project: int, by: str) -> bool:
    """Work goes on. False: nothing was declared."""

    def work(c: Connection) -> bool:
        c.execute(sql("graph_lock"), {"project": project})
        if c.execute(sql("undo_ship"), {"project": project, "by": by}).fetchone() is None:
            return False
        c.execute(sql("end_halt"), {"project": project, "halt": HaltReason.SHIP, "by": by})
        told: Event = (EventKind.SHIP_UNDONE, {"by": by})
        write_events(c, project, None, (told,))
        return True

    return db.run(work)
