"""damascus change: a done story is not valid any more."""

import sys
from typing import Annotated

import typer

from damascus.cli.opened import open_app, open_project, person_in
from damascus.cli.say import as_json as print_json
from damascus.cli.say import say, tell, wrapped
from damascus.domain.errors import DamascusError, UsageError
from damascus.people import changes_of_tasks

Stories = Annotated[list[str], typer.Argument(metavar="TASK…", help="The ids of done stories.")]
Why = Annotated[str, typer.Option("--why", metavar="TEXT", help="What has changed; whoever builds it anew is told.")]
SpecFile = Annotated[str | None, typer.Option("--spec", metavar="FILE", help="The spec that is wanted now.")]
Also = Annotated[bool, typer.Option("--with-dependents", help="The done stories that depend on it become STALE too.")]
Back = Annotated[bool, typer.Option("--undo", help="Take the change back, until it is on main.")]
Yes = Annotated[bool, typer.Option("--yes", help="Do it without asking; needed where there is no terminal.")]
AsJson = Annotated[bool, typer.Option("--json", help="As JSON.")]


def change(
    stories: Stories,
    *,
    why: Why = "",
    spec: SpecFile = None,
    with_dependents: Also = False,
    undo: Back = False,
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Say that done stories are not valid any more: they become STALE, and are built anew only by your word.

    \b
    Example:  damascus change TASK-003 --why "prices are in cents now"
              damascus change TASK-003 --why "another currency" --spec specs/TASK-003.md
              damascus change --undo TASK-003
    """
    app = open_app()
    project = open_project(app)
    if undo:
        if why or spec or with_dependents:
            raise UsageError("--undo takes a change back and needs nothing else: damascus change --undo TASK-003")
        done = changes_of_tasks.undo(app.database, project, stories, person_in(project))
        print_json({"stories": done.stories}) if as_json else tell(done)
        return
    if not why.strip():
        raise UsageError(f"say what has changed. Write it like: {changes_of_tasks.EXAMPLE}")
    radius = changes_of_tasks.blast_radius(app, project, stories)
    if not as_json:
        say("What this touches:")
        for line in changes_of_tasks.told(radius):
            say(wrapped(line, "    ", first="  "))
    confirmed(f"Shall {', '.join(radius.stories)} become STALE?", yes=yes)
    said = changes_of_tasks.SaidOfChange(why, person_in(project), spec, with_dependents)
    made = changes_of_tasks.change(app, project, radius, said)
    if as_json:
        print_json({"stories": made.stories, "radius": radius.published()})
        return
    tell(made)


def confirmed(question: str, *, yes: bool) -> None:
    """Asked at a terminal; elsewhere --yes has to say it. Otherwise nothing is changed."""
    if yes:
        return
    if not sys.stdin.isatty():
        raise UsageError(
            "there is no terminal to ask at: look at what is told above and add --yes. Nothing was changed."
        )
    if not typer.confirm(question, default=False):
        raise DamascusError("nothing was changed.")
