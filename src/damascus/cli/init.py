"""damascus init: a git repository becomes a project."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from damascus.cli.opened import open_app
from damascus.cli.own_commits import commit_paths
from damascus.cli.say import aside, say, tell
from damascus.domain.errors import DamascusError
from damascus.domain.scope import SETTINGS_FILE
from damascus.git.repository import Repository
from damascus.people import presets
from damascus.people.setting_up import found_in, set_up


def init(
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Don't ask.")] = False,
    commit: Annotated[
        bool, typer.Option("--commit", help="Commit damascus.toml, and only it, on the main branch.")
    ] = False,
    joins: Annotated[
        str | None,
        typer.Option("--joins", metavar="FOLDER", help="Join the project in that folder."),
    ] = None,
    preset: Annotated[
        str | None,
        typer.Option("--preset", metavar="WAY", help="How models are reached: anthropic, litellm, openai or none."),
    ] = None,
    gateway: Annotated[
        str, typer.Option("--gateway", metavar="URL", help="With --preset: the address of your gateway.")
    ] = "",
) -> None:
    """Make the git repository of this folder a project: finds its main branch, stack and tests, writes damascus.toml.

    \b
    Example:  damascus init --yes --commit
              damascus init --preset anthropic
              damascus init --joins ../core
    """
    app = open_app()
    repository = Repository.discover(Path.cwd())
    say(f"{repository.top.name}: {found_in(repository, app.environ).told()}")
    asks = not (repository.top / SETTINGS_FILE).exists() and not yes and sys.stdin.isatty()
    if asks and not typer.confirm(f"Write {SETTINGS_FILE}?", default=True):
        raise DamascusError("nothing was changed.")
    if asks and preset is None:
        preset = _asked_for_a_way()
    way = presets.chosen(preset or "", gateway)
    done = set_up(
        app, Path.cwd(), way, joins=Path(joins) if joins is not None else None, commit=commit_paths if commit else None
    )
    if done.note:
        aside("note", done.note)
    tell(done)


def _asked_for_a_way() -> str:
    for name, about in presets.OFFERED.items():
        say(f"  {name:<10} {about}")
    return str(typer.prompt("The way to a model (or none)", default="none"))
