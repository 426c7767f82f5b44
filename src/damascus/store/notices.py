"""Messages to people, as rows: made once for each target, sent at least once, in their order.

A message is made in the transaction that moves the notifier's cursor, so a process that dies makes it again or has made
it. Whoever sends one takes it for a while first; if that process dies, another sends it again with the same key.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from damascus.domain.events import EventKind
from damascus.domain.notices import Message, ToldEvent, composed, kinds, worth_telling
from damascus.store import cursors
from damascus.store.cursors import StreamReader
from damascus.store.db import Connection, Database, Row, jsonb, sql
from damascus.store.projects import ProjectRow

Mask = Callable[[str], str]
"""Takes keys out of a text."""
MOST = 1000
"""Events of one message."""
TAKEN = 120.0
"""Seconds after which a message that somebody began to send is anybody's: more than any target may take."""
KEPT_DAYS = 30


@dataclass(frozen=True)
class NoticesWanted:
    """What of a project is told, where, and how long what happened is waited for."""

    on: Sequence[str]
    targets: Sequence[str]
    batch_seconds: float


@dataclass(frozen=True)
class TakenNotice:
    """A message that this process sends now."""

    id: int
    target: str
    tries: int
    age: float
    message: Message


def begin(db: Database, project: ProjectRow) -> None:
    cursors.begin(db, project.id, StreamReader.NOTIFIER)


def make(db: Database, project: ProjectRow, wanted: NoticesWanted, mask: Mask) -> bool:
    """One message of what is new, if the oldest of it has waited long enough. Was one made?"""

    def work(c: Connection, cursor: Row) -> bool:
        found = _found(c, project, wanted, cursor)
        told = worth_telling([each for each, _ in found])
        age = max((age for each, age in found if each in told), default=0.0)
        if told and age < wanted.batch_seconds and len(found) < MOST:
            before = min(each.seq for each in told) - 1
            cursors.move(c, project.id, StreamReader.NOTIFIER, before)
            return False
        upto = found[-1][0].seq if len(found) == MOST else cursor["last_seq"]
        if told:
            _add(c, project, wanted.targets, told, mask)
        cursors.move(c, project.id, StreamReader.NOTIFIER, upto)
        return bool(told)

    return bool(cursors.alone(db, project.id, StreamReader.NOTIFIER, work))


def _found(c: Connection, project: ProjectRow, wanted: NoticesWanted, cursor: Row) -> list[tuple[ToldEvent, float]]:
    """What may be worth telling, with its age in seconds."""
    span = {"after": cursor["seq"], "upto": cursor["last_seq"], "most": MOST}
    rows = c.execute(sql("events_to_tell"), {"project": project.id, "kinds": kinds(wanted.on), **span}).fetchall()
    return [(_event(row), float(row["age"])) for row in rows]


def _event(row: Row) -> ToldEvent:
    return ToldEvent(row["seq"], EventKind(row["kind"]), row["body"], row["story_id"], row["title"], row["issue"])


def _add(c: Connection, project: ProjectRow, targets: Sequence[str], told: list[ToldEvent], mask: Mask) -> None:
    title, lines = composed(project.name, told)
    masked = jsonb([mask(line) for line in lines])
    given = {"project": project.id, "first": told[0].seq, "last": told[-1].seq, "title": mask(title), "lines": masked}
    for target in targets:
        c.execute(sql("add_notice"), {"target": target, **given})


def take(db: Database, project: ProjectRow, targets: Sequence[str]) -> TakenNotice | None:
    """The oldest message that is due, of these targets."""
    row = db.one("take_notice", project=project.id, targets=list(targets), seconds=TAKEN)
    if row is None:
        return None
    key = f"{project.uuid}-{row['first_seq']}-{row['last_seq']}"
    message = Message(key, project.name, row["title"], tuple(row["lines"]))
    return TakenNotice(row["id"], row["target"], row["tries"], row["age"], message)


def sent(db: Database, taken: TakenNotice) -> None:
    db.do("notice_sent", id=taken.id)


def failed(db: Database, taken: TakenNotice, error: str, seconds: float, *, give_up: bool) -> None:
    """It is due again after so many seconds, or never."""
    db.do("notice_failed", id=taken.id, error=error, seconds=seconds, give_up=give_up)


def forget(db: Database, project: ProjectRow) -> None:
    db.do("forget_notices", project=project.id, days=KEPT_DAYS)


def waiting(db: Database, project: int) -> list[Row]:
    """By target: how many are not sent, since when, how often the first was tried, and what it met."""
    return db.all("notices_waiting", project=project)


def given_up(db: Database, project: int) -> list[Row]:
    return db.all("notices_given_up", project=project)
