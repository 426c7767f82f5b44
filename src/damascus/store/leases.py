"""Claim, heartbeat, rescue: who may act on an item.

The lease protocol. A claim raises the item's fence and writes a lease with it. Every transaction of the worker
first takes that lease and compares the fence, so whoever raised it since (a rescuer, a person's command) has
shut the old worker out: its next write is refused, whatever it believes. The fence alone is safety. Expiry
only permits rescue: a lease that ran out while nobody wanted the item (the database was down, the laptop was
closed) is simply renewed. All times are the database's.
"""

from dataclasses import dataclass
from datetime import timedelta

from damascus.domain.errors import Outdated
from damascus.domain.ids import Fence
from damascus.domain.item import Item
from damascus.domain.policy import RESCUE_LIMIT
from damascus.store import rows
from damascus.store.db import Connection, Database, sql
from damascus.store.migrate import SchemaRange, current_version, schema_range

LOOK = 200
"""Rows one claim transaction examines before it commits and is asked again."""
OUTSIDE = -1
"""Instead of a number of rows: this code does not know the schema."""


@dataclass(frozen=True)
class Lease:
    """A lease as the rescuer sees it."""

    item_id: int
    fence: int
    worker_id: str
    expired: bool


def claim(db: Database, project: int, worker: str, count: int, lease: timedelta) -> list[Item]:
    """Claim up to `count` items. An empty answer means that nothing can start, never that others were busy.

    Raises Outdated when another release has brought the database to a schema that this code does not know.
    """
    claimed: list[Item] = []
    while len(claimed) < count:
        want = count - len(claimed)
        got, looked = db.run(lambda c, n=want: _claim(c, project, worker, n, lease))  # type: ignore[misc]
        claimed += got
        if looked == OUTSIDE and not claimed:
            raise Outdated(_outdated(schema_range(), current_version(db)))
        if looked < LOOK:
            break
    return claimed


def _outdated(known: SchemaRange, found: int) -> str:
    if found > known.high:
        return (
            f"this worker is older than the database: upgrade it. It knows schema {known.high}, the database has "
            f"schema {found}; it finishes what it holds and starts nothing more."
        )
    return (
        f"this worker is newer than the database, which was put back to schema {found} under it (a back-up?). "
        "It finishes what it holds; start it again, and the database is brought up to date."
    )


def _claim(c: Connection, project: int, worker: str, count: int, lease: timedelta) -> tuple[list[Item], int]:
    known = schema_range()
    params = {"project": project, "worker": worker, "count": count, "lease": lease, "look": LOOK}
    params |= {"low": known.low, "high": known.high}
    found = c.execute(sql("claim"), params).fetchall()
    ids = [row["item_id"] for row in found if row["item_id"] is not None]
    if not ids:
        return [], found[-1]["looked"]
    by_id = {row["id"]: rows.item(row) for row in c.execute(sql("items_by_id"), {"ids": ids})}
    return [by_id[i] for i in ids], found[-1]["looked"]


def assert_fence(c: Connection, item_id: int, fence: Fence) -> None:
    c.execute(sql("assert_fence"), {"item": item_id, "fence": fence})


def heartbeat(db: Database, held: dict[int, Fence], lease: timedelta) -> set[int]:
    """Renew all leases of this process; returns the items still held."""
    if not held:
        return set()
    params = {"items": list(held), "fences": list(held.values()), "lease": lease}
    return {row["item_id"] for row in db.all("heartbeat", **params)}


def current(db: Database, lease: timedelta) -> list[Lease]:
    found = db.all("expired_leases", lease=lease)
    return [Lease(r["item_id"], r["fence"], r["worker_id"], r["expired"]) for r in found]


def rescue(db: Database, lease: Lease, why: str, *, if_expired: bool = False) -> str | None:
    """Take an item from a worker that is gone. None: it was no longer there to take, or was renewed since the look."""
    params = {"item": lease.item_id, "fence": lease.fence, "limit": RESCUE_LIMIT, "why": why}
    row = db.one("rescue", **params, if_expired=if_expired)
    return row["became"] if row else None


def give_back_unknown(db: Database, worker: str, known: list[int]) -> int:
    """After a lost answer: free the items that we claimed without learning of it."""
    unknown = db.all("unknown_leases", worker=worker, known=known)
    for row in unknown:
        db.do("give_back", item=row["item_id"], fence=row["fence"])
    return len(unknown)
