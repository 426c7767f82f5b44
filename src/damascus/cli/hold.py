"""damascus hold, damascus release: a person stops a repository and its chain, and lets it go on."""

from typing import TYPE_CHECKING, Annotated

import typer

from damascus.cli.opened import opened
from damascus.cli.say import next_step, say
from damascus.domain.errors import UsageError

if TYPE_CHECKING:
    from damascus.app import Project
    from damascus.store.db import Database
    from damascus.store.projects import ProjectRow


def hold(
    reason: Annotated[list[str], typer.Argument(metavar="REASON…", help="Why; `damascus why` tells it.")],
    repo: Annotated[
        str | None, typer.Option("--repo", metavar="NAME", help="Which repository; default: this folder's.")
    ] = None,
) -> None:
    """Stop a repository and its chain: nothing starts there, agents at work are ended and their work is saved.

    \b
    Example:  damascus hold a key was pushed
    """
    from damascus.store import people

    db, project = opened()
    row = _named(db, project, repo)
    people.hold(db, row.id, row.repo_id, " ".join(reason))
    say(f"{row.repo} is held: {' '.join(reason)}.")
    next_step(f"damascus release {row.repo}")


def release(
    repo: Annotated[
        str | None, typer.Argument(metavar="NAME", help="Which repository; default: this folder's.")
    ] = None,
) -> None:
    """End every hold of a repository: its stories go on.

    \b
    Example:  damascus release core
    """
    from damascus.store import people

    db, project = opened()
    row = _named(db, project, repo)
    ended = people.release_hold(db, row.id, row.repo_id)
    say(f"{row.repo} goes on." if ended else f"{row.repo} was not held.")
    next_step("damascus status")


def _named(db: "Database", project: "Project", name: str | None) -> "ProjectRow":
    from damascus.store import projects

    if name is None:
        return project.row
    found = projects.repositories(db, project.row.uuid)
    for row in found:
        if row.repo.lower() == name.lower():
            return row
    known = ", ".join(row.repo for row in found)
    raise UsageError(f"this project has no repository {name!r}. It has: {known}.")
