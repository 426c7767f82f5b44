"""A person stops a repository and its chain, and lets it go on."""

from dataclasses import dataclass

from damascus.app import Project
from damascus.domain.errors import DamascusError, UsageError
from damascus.domain.visible import visible
from damascus.people.acts import Done
from damascus.store import people, projects, ships
from damascus.store.db import Database
from damascus.store.projects import ProjectRow


@dataclass(frozen=True)
class Held(Done):
    """The repository that is held now, why, and the hold's number."""

    repo: str
    reason: str
    hold: int


@dataclass(frozen=True)
class Released(Done):
    """The repository, and how many holds of it were ended."""

    repo: str
    ended: int


def hold(db: Database, project: Project, reason: str, repo: str | None = None) -> Held:
    """Nothing starts in it or its chain until it is released. No name means the project's folder itself."""
    if not visible(reason):
        raise UsageError("say why. Write it like: damascus hold a key was pushed")
    row = _named(db, project, repo)
    number = people.hold(db, row.id, row.repo_id, reason)
    return Held(f"{row.repo} is held: {reason}.", f"damascus release {row.repo}", row.repo, reason, number)


def release(db: Database, project: Project, repo: str | None = None) -> Released:
    """Every hold of it ends."""
    row = _named(db, project, repo)
    ended = people.release_hold(db, row.id, row.repo_id)
    if not ended and (declared := ships.current(db, row.id)) is not None:
        raise DamascusError(
            f"SHIP was declared by {declared.declared_by}. To go on, take it back: damascus ship --undo"
        )
    said = f"{row.repo} goes on." if ended else f"{row.repo} was not held."
    return Released(said, "damascus status", row.repo, ended)


def _named(db: Database, project: Project, name: str | None) -> ProjectRow:
    if name is None:
        return project.row
    found = projects.repositories(db, project.row.uuid)
    for row in found:
        if row.repo.lower() == name.lower():
            return row
    known = ", ".join(row.repo for row in found)
    raise UsageError(f"this project has no repository {name!r}. It has: {known}.")
