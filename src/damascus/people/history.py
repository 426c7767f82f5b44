"""What happened in a project or to one story: the newest events, or the numbered stream as it goes on."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from damascus.app import Project
from damascus.store import stream, views
from damascus.store.db import Database, Row


@dataclass(frozen=True)
class EventPage:
    """Events in order, the number after which the next page begins, and whether there is more at this moment."""

    rows: tuple[Row, ...]
    following: int
    more: bool


@dataclass(frozen=True)
class History:
    """Of the whole project, or of one item."""

    db: Database
    project: Project
    item: int | None

    def newest(self, limit: int) -> list[Row]:
        """Oldest first."""
        return views.events(self.db, self.project.row, self.item, limit)

    def follow(self, after: int | None, limit: int) -> Iterator[Row]:
        """Every event after this number as it happens; without a number, from the newest `limit` on. It never ends."""
        project = self.project.row.id
        for row in stream.follow(self.db, self._start(after, limit)):
            if row["project_id"] == project and self.item in (None, row["item_id"]):
                yield row

    def page(self, after: int | None, limit: int) -> "EventPage":
        """The next events after this number, at most `limit`; without a number the newest. Of a project at most so
        many numbers are looked at as the stream has in a batch: a page may be short, and says where to go on."""
        start = self._start(after, limit)
        if self.item is not None:
            found = stream.of_item(self.db, self.item, start, limit + 1)
            return EventPage(tuple(found[:limit]), _last(found[:limit], start), len(found) > limit)
        looked = stream.batch(self.db, start)
        own = [row for row in looked if row["project_id"] == self.project.row.id]
        if len(own) > limit:
            return EventPage(tuple(own[:limit]), own[limit - 1]["seq"], True)
        return EventPage(tuple(own), _last(looked, start), len(looked) == stream.BATCH)

    def gone_by_age(self, after: int | None, limit: int) -> int | None:
        """The number up to which events went by age, where one who follows would begin before it."""
        gone = stream.pruned(self.db)
        return gone if self._start(after, limit) < gone else None

    def _start(self, after: int | None, limit: int) -> int:
        return stream.tail(self.db, self.project.row.id, self.item, limit) if after is None else after


def _last(rows: list[Row], start: int) -> int:
    return int(rows[-1]["seq"]) if rows else start


def history(db: Database, project: Project, story: str | None) -> History:
    """With every committed event numbered."""
    item = views.story_row(db, project.row, story).id if story else None
    stream.publish(db)
    return History(db, project, item)


def published(row: Row) -> dict[str, Any]:
    """The keys that programs read: the same for an event of the stream and for one that is past."""
    return {
        "seq": row["seq"],
        "id": row["id"],
        "at": row["created_at"],
        "story_id": row["story_id"],
        "kind": row["kind"],
        "body": row["body"],
    }
