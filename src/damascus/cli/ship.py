"""damascus ship: a person declares SHIP; main is verified, and the release's receipt has the verdict."""

from typing import Annotated

import typer

from damascus.cli.opened import open_app, open_project, person_in
from damascus.cli.say import as_json as print_json
from damascus.cli.say import aside, say, tell, wrapped
from damascus.domain.errors import UsageError
from damascus.people import shipping
from damascus.people.shipping import Shipped
from damascus.telling import release

By = Annotated[str, typer.Option("--by", metavar="NAME", help="Who declares it.")]
Note = Annotated[str, typer.Option("--note", metavar="TEXT", help="What is released.")]
Back = Annotated[bool, typer.Option("--undo", help="Take it back: work goes on.")]
Show = Annotated[bool, typer.Option("--show", help="What was declared, and what verifying main came to.")]
AsJson = Annotated[bool, typer.Option("--json", help="The release's receipt, as JSON.")]


def ship(*, by: By = "", note: Note = "", undo: Back = False, show: Show = False, as_json: AsJson = False) -> None:
    """Declare SHIP: nothing new is begun, what runs is stopped with its work saved, and main is verified.

    The verdict is computed: SHIP, CONDITIONAL or NO-SHIP (exit code 1). If it is killed, the same command goes on.

    \b
    Example:  damascus ship --by "Ada Lovelace" --note "the first release"
              damascus ship --show
              damascus ship --undo
    """
    if undo + show + bool(by) != 1:
        raise UsageError("say who declares it, or --show, or --undo: damascus ship --by 'Ada Lovelace'")
    app = open_app()
    project = open_project(app)
    if undo:
        done = shipping.undo(app, project, person_in(project))
        print_json({"undone_by": done.by}) if as_json else tell(done)
        return
    found = (
        shipping.shown(app, project)
        if show
        else shipping.ship(app, project, by, note, lambda line: aside("verifying", line))
    )
    _print(found, as_json)
    if found.code:
        raise typer.Exit(found.code)


def _print(found: Shipped, as_json: bool) -> None:
    if as_json:
        print_json(found.receipt.model_dump(mode="json"))
        return
    for line in release.lines(found.receipt):
        say(wrapped(line, "    ", first="  "))
    tell(found)
