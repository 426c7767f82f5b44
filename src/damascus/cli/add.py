"""damascus add: stories enter the queue, all of a command or none."""

import os
from pathlib import Path
from typing import Annotated

import typer

from damascus.cli.opened import opened
from damascus.cli.say import aside, tell
from damascus.git.repository import Repository
from damascus.people import adding
from damascus.people.adding import Checked


def add(
    specs: Annotated[list[str], typer.Argument(metavar="SPEC…", help="Spec files (docs/spec.md).")],
    rough: Annotated[
        bool, typer.Option("--rough", help="Only story and title are needed; the rest is asked for in phase spec.")
    ] = False,
    check: Annotated[
        bool, typer.Option("--check", help="Only check the files, and report everything that is wrong.")
    ] = False,
) -> int:
    """Queue stories from spec files, all or none. Unchanged ones are skipped.

    The spec of a blocked or cancelled story is replaced; with several files, only if its file has changed.

    \b
    Example:  damascus add specs/S-21.md specs/S-22.md
              damascus add --check specs/*.md
    """
    if check:
        checked = _checked(specs, rough)
        _tell("warning", checked.warnings)
        _tell("error", checked.errors)
        tell(checked)
        return 2 if checked.errors else 0
    added = adding.add(*opened(), specs, rough=rough)
    _tell("warning", added.warnings)
    tell(added)
    return 0


def _checked(specs: list[str], rough: bool) -> Checked:
    """Without a project there is no queue to ask."""
    repository = Repository.discover(Path.cwd())
    if repository.identity()[0] is None:
        return adding.check_clone(repository, os.environ, specs, rough=rough)
    return adding.check(*opened(), specs, rough=rough)


def _tell(kind: str, texts: tuple[str, ...]) -> None:
    for text in texts:
        aside(kind, text)
