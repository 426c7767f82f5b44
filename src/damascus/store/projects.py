"""Which projects and repositories this queue knows."""

from dataclasses import dataclass
from uuid import UUID

from damascus.store.db import Database


@dataclass(frozen=True)
class ProjectRow:
    """A project with its one repository."""

    id: int
    uuid: UUID
    name: str
    repo_id: int
    path: str
    main_branch: str
    main_sha: str | None


def queue_id(db: Database) -> str:
    row = db.one("queue_id")
    assert row is not None
    return str(row["id"])


def find(db: Database, uuid: UUID) -> ProjectRow | None:
    row = db.one("find_project", uuid=uuid)
    return ProjectRow(**row) if row else None


def register(db: Database, uuid: UUID, name: str, path: str, main: tuple[str, str | None]) -> ProjectRow:
    """Add a project, or find it again: a moved folder keeps its queue."""
    known = find(db, uuid)
    branch, sha = main
    if known is None:
        db.do("add_project", uuid=uuid, name=name, path=path, main_branch=branch, main_sha=sha)
    elif (known.path, known.main_branch) != (path, branch):
        db.do("move_repo", repo=known.repo_id, path=path, main_branch=branch, main_sha=sha)
    found = find(db, uuid)
    assert found is not None
    return found
