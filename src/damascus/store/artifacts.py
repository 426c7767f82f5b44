"""What the steps of a story leave, by name and version: for people, for later steps, for other hosts and back-ups."""

import hashlib
from dataclasses import dataclass
from datetime import datetime

from damascus.store.db import Connection, Database, Row, sql

LARGEST = 2_000_000


@dataclass(frozen=True)
class Artifact:
    """One version of one file of a story's run folder."""

    name: str
    version: int
    run_no: int
    step: str
    sha256: str
    content: bytes
    made_at: datetime


def put(c: Connection, item: int, name: str, content: bytes, *, run_no: int, step: str) -> None:
    """A new version; the same content as the last one makes none. Within the caller's transaction, under its fence."""
    digest = hashlib.sha256(content).hexdigest()
    params = {"item": item, "name": name, "run": run_no, "step": step, "sha256": digest, "content": content}
    c.execute(sql("artifact_put"), params)


def latest(db: Database, item: int, name: str) -> Artifact | None:
    row = db.one("artifact_latest", item=item, name=name)
    return _read(row) if row else None


def all_latest(db: Database, item: int) -> list[Artifact]:
    return [_read(row) for row in db.all("artifacts_latest", item=item)]


def versions(db: Database, item: int, name: str) -> list[Artifact]:
    """All of one name, oldest first."""
    return [_read(row) for row in db.all("artifact_history", item=item, name=name)]


def version_of(db: Database, item: int, name: str, version: int) -> Artifact | None:
    row = db.one("artifact_version", item=item, name=name, version=version)
    return _read(row) if row else None


def names(db: Database, item: int) -> set[str]:
    return {row["name"] for row in db.all("artifact_versions", item=item)}


def _read(row: Row) -> Artifact:
    return Artifact(**{**row, "content": bytes(row["content"])})
