"""The rows behind /metrics. Nothing that is finished is counted anew: events are added to counts once, by whoever asks
next, so a look costs what happened since the last one."""

from damascus.store import cursors
from damascus.store.cursors import StreamReader
from damascus.store.db import Connection, Database, Row, sql

AT_ONCE = 50_000
"""Events that one look counts at most; the first looks at a long history take several."""


def counted(db: Database, project: int) -> dict[tuple[str, str], int]:
    """How often each event was written, by kind and word (store/migrations/0018_window.sql)."""
    cursors.begin(db, project, StreamReader.COUNTER)
    cursors.alone(db, project, StreamReader.COUNTER, lambda c, place: _count(c, project, place))
    return {(row["kind"], row["word"]): int(row["n"]) for row in db.all("counted_events", project=project)}


def _count(c: Connection, project: int, place: Row) -> None:
    upto = min(place["last_seq"], place["seq"] + AT_ONCE)
    c.execute(sql("count_events"), {"project": project, "after": place["seq"], "upto": upto})
    cursors.move(c, project, StreamReader.COUNTER, upto)


def behind(db: Database, project: int) -> int:
    row = db.one("events_behind", project=project)
    return int(row["n"]) if row else 0


def open_stories(db: Database, project: int) -> list[Row]:
    return db.all("open_stories", project=project)


def open_numbers(db: Database, project: int) -> Row:
    row = db.one("open_numbers", project=project)
    assert row is not None
    return row


def queue_lengths(db: Database, project: int) -> list[Row]:
    """By repository and state; a repository with an empty queue has a row without a state."""
    return db.all("queue_lengths", project=project)
