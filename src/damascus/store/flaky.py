"""Tests that failed and then passed on the same commit, by name (W7)."""

from collections.abc import Sequence

from pydantic import BaseModel

from damascus.domain.item import Item
from damascus.store.db import Connection, Database, Row, jsonb, sql


class FlakyTest(BaseModel):
    """One test of one job; `test` is "" where the log named none."""

    job: str
    test: str = ""


def record(c: Connection, item: Item, tests: Sequence[FlakyTest], sha: str) -> None:
    """Once for each commit, however often this transaction is repeated."""
    record_in(c, item.project_id, item.repo_id, tests, sha)


def record_in(c: Connection, project: int, repo: int, tests: Sequence[FlakyTest], sha: str) -> None:
    """As `record`, where no story met it."""
    listed = jsonb([one.model_dump() for one in tests])
    c.execute(sql("flaky_record"), {"project": project, "repo": repo, "sha": sha, "tests": listed})


def quarantined(db: Database, repo: int) -> frozenset[str]:
    return frozenset(row["test"] for row in db.all("flaky_quarantined", repo=repo))


def listed(db: Database, project: int, limit: int) -> list[Row]:
    """Those seen last first."""
    return db.all("view_flaky", project=project, limit=limit)
