"""The numbered stream of events: published by one, followed by any number, none missed and none twice.

Events are written in the transaction that they tell of, under ids that are drawn before it commits, so ids come to
light out of order. `publish` numbers what is committed (store/functions/publish_events.sql tells how) and
wakes whoever listens, once for each batch. Any process may publish: housekeeping of every worker does, and so does a
follower that heard nothing for a while. A follower reads numbers only; they have no gap, and a later one is never
seen before an earlier one. Only far back may numbers be missing: events that went by age (`pruned` says up to which).
"""

from collections.abc import Callable, Iterator
from contextlib import suppress

import psycopg

from damascus.store.db import Connection, Database, Row, never

CHANNEL = "damascus_events"
BATCH = 1000
POLL = 1.0
"""A follower looks this often by itself: a wake-up is a hint, and nobody may be there to send one."""


def publish(db: Database) -> int:
    """Number what is committed. How many; 0 also when another process is at it."""
    numbered = 0
    while True:
        row = db.one("publish_events", most=BATCH)
        assert row is not None
        now = int(row["numbered"])
        numbered += now
        if now < BATCH:
            return numbered


def tail(db: Database, project: int, item: int | None, limit: int) -> int:
    """After which number the newest `limit` events come."""
    row = db.one("stream_tail", project=project, item=item, limit=limit)
    assert row is not None
    return int(row["after"])


def pruned(db: Database) -> int:
    """The highest number that an event had which went by age; up to there the numbers have gaps."""
    row = db.one("stream_pruned")
    return int(row["pruned"]) if row else 0


def batch(db: Database, after: int) -> list[Row]:
    """The next events of all projects, as many as a batch has at most."""
    return db.all("view_stream", after=after, limit=BATCH)


def of_item(db: Database, item: int, after: int, limit: int) -> list[Row]:
    return db.all("stream_of_item", item=item, after=after, limit=limit)


def follow(
    db: Database, after: int, poll: float | Callable[[], float] = POLL, *, until: Callable[[], bool] = never
) -> Iterator[Row]:
    """Every event with a number above `after`, in order, for ever or `until` asks for the end. Of all projects: the
    caller picks. `poll`: how long a wake-up is waited for each time."""
    listening: Connection | None = None
    while not until():
        if db.connection() is not listening:  # before the look, so that nothing falls between; again when it was lost
            db.run(lambda c: c.execute(f"LISTEN {CHANNEL}".encode()), single=True)
            listening = db.connection()
        found = batch(db, after)
        for row in found:
            after = row["seq"]
            yield row
        if len(found) < BATCH and not _woken(listening, poll() if callable(poll) else poll):
            publish(db)


def _woken(connection: Connection, poll: float) -> bool:
    """Did the publisher say that there is more? A lost connection is told by the next look."""
    with suppress(psycopg.OperationalError):
        return any(True for _ in connection.notifies(timeout=poll, stop_after=1))
    return False
