"""damascus why: one honest paragraph."""

from typing import Annotated

import typer

from damascus.cli.opened import open_app, open_project
from damascus.cli.say import as_json as print_json
from damascus.cli.say import next_step, say, wrapped
from damascus.people.explaining import explained


def why(
    story: Annotated[str, typer.Argument(metavar="STORY", help="The story's id.")],
    as_json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
) -> None:
    """Where a story is, since when, what it waits for, who must act, what happens next.

    \b
    Example:  damascus why S-23
    """
    app = open_app()
    told = explained(app, open_project(app), story)
    if as_json:
        print_json(told.published())
        return
    for sentence in told.sentences:
        say(wrapped(sentence))
    next_step(told.following)
