"""damascus notify: the messages to people, tried by hand."""

from typing import Annotated

import typer

from damascus.cli.opened import open_app, open_project
from damascus.cli.say import as_json, aside, say, tell
from damascus.people.notifying import send_test

app = typer.Typer(rich_markup_mode=None, no_args_is_help=True, help="Messages to people: try them.")


@app.command("test", short_help="Send one message to every target of [notify].")
def test(json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False) -> int:
    """Send one message to every target of [notify], now, whatever the hour.

    Exit code 1 if one of them did not take it.

    \b
    Example:  damascus notify test
    """
    home = open_app()
    tried = send_test(home, open_project(home))
    if json:
        as_json(tried.published())
        return int(tried.failed)
    for each in tried.trials:
        if each.error:
            aside("error", f"{each.target}: {each.error}")
        else:
            say(f"{each.target}: sent")
    tell(tried)
    return int(tried.failed)
