"""The merge queue's rows: who is in line for a branch, on what, and how its tests went (functions/queue_*.sql)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from damascus.domain.ids import Sha
from damascus.domain.merge_queue import EntryState, QueueEntry
from damascus.store.db import Connection, Database, Row, sql


@dataclass(frozen=True)
class Line:
    """The queue at one moment, in order. `version` grows with every change, `width` is how many may be in it."""

    entries: Sequence[QueueEntry]
    version: int | None = None
    width: int = 1

    def mine(self, item: int) -> QueueEntry | None:
        return next((entry for entry in self.entries if entry.item == item), None)

    def ahead(self, item: int) -> Sequence[QueueEntry]:
        places = [entry.item for entry in self.entries]
        return self.entries[: places.index(item)] if item in places else self.entries


def look(db: Database, repo: int, target: str) -> Line:
    rows = db.all("queue_look", repo=repo, target=target)
    found = [row for row in rows if row["item_id"] is not None]
    entries = [_entry(row) for row in found]
    return Line(entries, rows[0]["version"], rows[0]["width"]) if rows else Line(entries)


def _entry(row: Row) -> QueueEntry:
    return QueueEntry(row["item_id"], Sha(row["base"]), Sha(row["commit"]), EntryState(row["state"]))


def put(c: Connection, queue: tuple[int, str], entry: QueueEntry, most: int) -> Literal["in", "full", "moved"]:
    repo, target = queue
    given = {"item": entry.item, "base": entry.base, "commit": entry.commit, "state": entry.state, "most": most}
    row = c.execute(sql("queue_put"), {"repo": repo, "target": target, **given}).fetchone()
    assert row is not None
    answer: Literal["in", "full", "moved"] = row["answer"]
    return answer


def mark(c: Connection, item: int, commit: Sha, state: EntryState) -> None:
    c.execute(sql("queue_mark"), {"item": item, "commit": commit, "state": state})


def landed(c: Connection, item: int) -> None:
    c.execute(sql("queue_landed"), {"item": item})
