"""Who did what by the window or by a token: a line before it is done, and what came of it."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from damascus.app import Project
from damascus.domain.errors import DamascusError
from damascus.people.acts import Actor
from damascus.store import audit
from damascus.store.audit import AuditLine
from damascus.store.db import Database

SHOWN = 100


@dataclass
class ActOutcome:
    """What came of it, set by whoever does it."""

    said: str = "done"


@contextmanager
def audited(db: Database, project: Project, who: Actor, what: tuple[str, str], where: str) -> Iterator[ActOutcome]:
    """Around the act itself: `what` is its verb and what it is done to. A refusal is a line too; one that has no
    outcome was not seen to its end."""
    act, target = what
    told = {"who": who.name, "by": who.by, "act": act, "target": target, "origin": where}
    line, outcome = audit.begin(db, project.row.id, told), ActOutcome()
    try:
        yield outcome
    except DamascusError as err:
        audit.end(db, line, f"refused: {err}")
        raise
    audit.end(db, line, outcome.said)


def newest(db: Database, project: Project, limit: int = SHOWN) -> list[AuditLine]:
    return audit.newest(db, project.row.id, limit)
