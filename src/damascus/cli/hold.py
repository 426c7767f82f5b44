"""damascus hold, damascus release: a person stops a repository and its chain, and lets it go on."""

from typing import Annotated

import typer

from damascus.cli.opened import opened
from damascus.cli.say import tell
from damascus.people import holds


def hold(
    reason: Annotated[list[str], typer.Argument(metavar="REASON…", help="The reason; `damascus why` shows it.")],
    repo: Annotated[
        str | None, typer.Option("--repo", metavar="NAME", help="Which repository; default: this folder's.")
    ] = None,
) -> None:
    """Stop a repository and its chain: nothing starts there, agents at work are stopped and their work is saved.

    \b
    Example:  damascus hold a key was pushed
    """
    tell(holds.hold(*opened(), " ".join(reason), repo))


def release(
    repo: Annotated[
        str | None, typer.Argument(metavar="NAME", help="Which repository; default: this folder's.")
    ] = None,
) -> None:
    """End every hold on a repository: its stories go on.

    \b
    Example:  damascus release core
    """
    tell(holds.release(*opened(), repo))
