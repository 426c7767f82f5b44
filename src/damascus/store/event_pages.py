"""Pages of the numbered stream: older and newer by number, of a project or of one story.

Numbers have no gap, so a page of a whole project looks at the `LOOK` numbers beside its place and no further, however
rare the kind is that it asks for.
"""

from dataclasses import dataclass

from damascus.store.db import Database, Row

LOOK = 10_000
LAST = 2**62


@dataclass(frozen=True)
class PageOfEvents:
    """Newest first. `older`: events before this number come next; `newer`: events after it. `gone`: up to there events
    went by age."""

    rows: tuple[Row, ...]
    older: int | None
    newer: int | None
    gone: int = 0
    cut: bool = False


@dataclass(frozen=True)
class EventFilter:
    """Of a project (its number), of one item of it, of one kind; None asks for nothing."""

    project: int
    item: int | None = None
    kind: str | None = None


def newest_before(db: Database, wanted: EventFilter, before: int | None, size: int) -> PageOfEvents:
    """The newest `size` with a number below `before`."""
    last, gone = _ends(db)
    high = min(before or last + 1, last + 1)
    low = gone + 1 if wanted.item is not None else max(high - LOOK, gone + 1)
    rows = _between(db, wanted, low, high, size, upward=False)
    floor = rows[-1]["seq"] if len(rows) == size else low
    return PageOfEvents(
        tuple(rows),
        older=floor if floor > gone + 1 else None,
        newer=high - 1 if high <= last else None,
        gone=gone,
        cut=len(rows) < size and low > gone + 1,
    )


def oldest_after(db: Database, wanted: EventFilter, after: int, size: int) -> PageOfEvents:
    """The oldest `size` with a number above `after`."""
    last, gone = _ends(db)
    low = max(min(after, last), gone) + 1
    high = last + 1 if wanted.item is not None else min(low + LOOK, last + 1)
    rows = _between(db, wanted, low, high, size, upward=True)
    top = rows[-1]["seq"] if len(rows) == size else high - 1
    return PageOfEvents(
        tuple(reversed(rows)),
        older=low if low > gone + 1 else None,
        newer=top if top < last else None,
        gone=gone,
        cut=len(rows) < size and high <= last,
    )


def _ends(db: Database) -> tuple[int, int]:
    """The last number, and the one up to which events went by age."""
    row = db.one("stream_ends")
    return (int(row["last_seq"]), int(row["pruned"])) if row else (0, 0)


def _between(db: Database, wanted: EventFilter, low: int, high: int, size: int, *, upward: bool) -> list[Row]:
    where = {"low": low, "high": high, "kind": wanted.kind, "limit": size}
    if wanted.item is not None:
        return db.all("events_of_story", item=wanted.item, upward=upward, **where)
    if upward:
        return db.all("events_up", project=wanted.project, **where)
    return db.all("events_down", project=wanted.project, **where)
