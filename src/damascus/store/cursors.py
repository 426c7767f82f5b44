"""Readers of the stream that go on where they, or another process, ended: one at a time of each, for a project.

What takes no longer than a transaction holds its cursor by a lock (`alone`); what goes over a network takes it for a
while (`take`), and whoever finds that while over takes it from a process that died.
"""

from collections.abc import Callable
from typing import TypeVar

from damascus.domain.described import Described
from damascus.store.db import Connection, Database, Row, sql

T = TypeVar("T")


class StreamReader(Described):
    """Who reads the stream."""

    NOTIFIER = "notifier", "makes notices of events"
    COUNTER = "counter", "counts events, for metrics"
    TRACER = "tracer", "sends a trace of each story that came to rest"


def begin(db: Database, project: int, reader: StreamReader) -> None:
    """A reader that is new begins at the stream's end; the counter at its beginning."""
    db.do("cursor_begin", project=project, reader=reader, whole=reader is StreamReader.COUNTER)


def alone(db: Database, project: int, reader: StreamReader, work: Callable[[Connection, Row], T]) -> T | None:
    """`work` with the cursor's row, in one transaction; None where there is nothing new, or another one is at it."""

    def locked(c: Connection) -> T | None:
        row = c.execute(sql("cursor_alone"), {"project": project, "reader": reader}).fetchone()
        return work(c, row) if row is not None and row["behind"] else None

    return db.run(locked)


def move(c: Connection, project: int, reader: StreamReader, seq: int) -> None:
    c.execute(sql("cursor_move"), {"project": project, "reader": reader, "seq": seq})


def take(db: Database, project: int, reader: StreamReader, seconds: float) -> Row | None:
    """Its place and the stream's end, for so many seconds."""
    return db.one("cursor_take", project=project, reader=reader, seconds=seconds)


def leave(db: Database, project: int, reader: StreamReader, seq: int | None = None) -> None:
    """Let go of what was taken: read up to `seq`, or as far as before."""
    if seq is None:
        db.do("cursor_leave", project=project, reader=reader)
    else:
        db.do("cursor_move", project=project, reader=reader, seq=seq)
