"""Which projects and repositories this queue knows."""

from dataclasses import dataclass, replace
from uuid import UUID, uuid4

import psycopg

from damascus.domain.errors import DamascusError, UsageError
from damascus.store.db import Database


@dataclass(frozen=True)
class ProjectRow:
    """A project, seen from one of its repositories. `joined`: not its first."""

    id: int
    uuid: UUID
    name: str
    repo_id: int
    repo_uuid: UUID
    repo: str
    joined: bool
    path: str
    main_branch: str
    main_sha: str | None
    max_workers: int = 0
    forge_kind: str | None = None
    forge_url: str | None = None
    forge_token_env: str | None = None

    @property
    def forge(self) -> "ForgeAddress | None":
        """None: it lives in its folder alone."""
        if self.forge_kind is None or self.forge_url is None or self.forge_token_env is None:
            return None
        return ForgeAddress(self.forge_kind, self.forge_url, self.forge_token_env)


@dataclass(frozen=True)
class ForgeAddress:
    """Where a host without the repository's folder finds it, and which variable there must hold the token."""

    kind: str
    url: str
    token_env: str


def queue_id(db: Database) -> str:
    row = db.one("queue_id")
    assert row is not None
    return str(row["id"])


def repositories(db: Database, uuid: UUID) -> list[ProjectRow]:
    """Every repository of a project, its first one first."""
    return [ProjectRow(**row) for row in db.all("find_project", uuid=uuid)]


def find(db: Database, uuid: UUID, repo: UUID | None = None) -> ProjectRow | None:
    """One repository of a project; without its own uuid the only one there is."""
    found = repositories(db, uuid)
    if repo is None:
        return found[0] if len(found) == 1 else None
    return next((row for row in found if row.repo_uuid == repo), None)


def register(
    db: Database, uuid: UUID, name: str, path: str, main: tuple[str, str | None], *, repo: UUID | None = None
) -> ProjectRow:
    """Add a project with its first repository, or a further one, or find it again: a moved folder keeps its queue."""
    known = find(db, uuid, repo)
    branch, sha = main
    if known is None:
        own = repo or uuid4()
        db.do("add_project", uuid=uuid, name=name, repo=own, path=path, main_branch=branch, main_sha=sha)
        known = find(db, uuid, own)
    elif (known.path, known.main_branch) != (path, branch):
        db.do("move_repo", repo=known.repo_id, path=path, main_branch=branch, main_sha=sha)
        known = find(db, uuid, known.repo_uuid)
    assert known is not None
    return known


def refuse_taken_name(db: Database, uuid: UUID, name: str) -> None:
    if any(row.repo.lower() == name.lower() for row in repositories(db, uuid)):
        raise UsageError(
            f"a repository of this project is called {name} already. Give this one another name: [project] name in its "
            "damascus.toml."
        )


def leave(db: Database, uuid: UUID, name: str) -> None:
    """A repository that was a project of its own gives that up, if nothing was ever queued there."""
    found = repositories(db, uuid)
    queued = db.one("stories_of", uuid=uuid)
    if len(found) > 1 or (queued and queued["n"]):
        raise UsageError(
            f"{name} is a project of its own, with {queued['n'] if queued else 0} stories and {len(found)} "
            "repositories. Only one that has no stories and no other repository can join another project."
        )
    db.do("forget_repos", uuid=uuid)


def remember_forge(db: Database, row: ProjectRow, forge: ForgeAddress | None) -> ProjectRow:
    """As main's damascus.toml says it now."""
    if row.forge == forge:
        return row
    found = (forge.kind, forge.url, forge.token_env) if forge else (None, None, None)
    kind, url, token_env = found
    try:
        db.do("set_forge", repo=row.repo_id, kind=kind, url=url, token_env=token_env)
    except psycopg.errors.UniqueViolation:
        raise DamascusError(
            f"{url} is worked by another project of this database already, and two queues would land past each other. "
            "Start one more worker for that one instead: damascus worker (docs/operations.md)."
        ) from None
    return replace(row, forge_kind=kind, forge_url=url, forge_token_env=token_env)


def on_forges(db: Database) -> list[tuple[UUID, str]]:
    """The projects that any host can work."""
    return [(row["uuid"], row["name"]) for row in db.all("on_forges")]


def others(db: Database, row: ProjectRow) -> list[str]:
    """The names of those that share the installation."""
    return [str(each["name"]) for each in db.all("other_projects", project=row.id)]
