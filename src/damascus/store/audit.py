"""A line for each thing that somebody did by the window or by a token: who, what, from where, what came of it."""

from dataclasses import dataclass
from datetime import datetime

from damascus.domain.storable import clean
from damascus.store.db import Database

LONGEST = 2000


@dataclass(frozen=True)
class AuditLine:
    """`outcome` is "begun" until it is known: whoever died in between has left it so."""

    id: int
    at: datetime
    who: str
    by: str
    act: str
    target: str
    origin: str
    outcome: str


def begin(db: Database, project: int, line: dict[str, str]) -> int:
    """Written before anything is done. `line` has who, by, act, target and origin."""
    row = db.one("audit_begin", project=project, **{name: _kept(text) for name, text in line.items()})
    assert row is not None
    return int(row["id"])


def end(db: Database, line: int, outcome: str) -> None:
    db.do("audit_end", line=line, outcome=_kept(outcome))


def newest(db: Database, project: int, limit: int) -> list[AuditLine]:
    return [AuditLine(**row) for row in db.all("audit_newest", project=project, limit=limit)]


def _kept(text: str) -> str:
    return clean(text, LONGEST)
