"""Rows that go by age: kept passes, pictures that nobody accepted, events of how a story moved which is over."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from damascus.store.db import Database, Row

BATCH = 1000


@dataclass(frozen=True)
class Old:
    """What is older than it is kept: how many, about how many bytes, and since when the oldest is there."""

    count: int = 0
    bytes: int = 0
    oldest: datetime | None = None


def old_evidence(db: Database, repo: int, days: int) -> Old:
    return _old(db.one("old_evidence", repo=repo, days=days))


def prune_evidence(db: Database, repo: int, days: int) -> None:
    while _count(db.one("prune_evidence", repo=repo, days=days, most=BATCH)) == BATCH:
        continue


def old_pictures(db: Database, repo: int, days: int) -> Old:
    return _old(db.one("old_pictures", repo=repo, days=days))


def prune_pictures(db: Database, repo: int, days: int) -> None:
    db.do("prune_pictures", repo=repo, days=days)


def old_events(db: Database, repo: int, days: int, kinds: Collection[str]) -> Old:
    return _old(db.one("old_events", repo=repo, days=days, kinds=sorted(kinds)))


def prune_events(db: Database, repo: int, days: int, kinds: Collection[str]) -> None:
    while _count(db.one("prune_events", repo=repo, days=days, kinds=sorted(kinds), most=BATCH)) == BATCH:
        continue


def _old(row: Row | None) -> Old:
    return Old(row["n"], row["bytes"], row["oldest"]) if row else Old()


def _count(row: Row | None) -> int:
    return int(row["n"]) if row else 0
