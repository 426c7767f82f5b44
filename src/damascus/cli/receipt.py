"""damascus receipt: the evidence of a story, as JSON."""

from typing import Annotated

import typer

from damascus.cli.opened import opened
from damascus.cli.say import as_json as print_json
from damascus.store import receipts


def receipt(
    story: Annotated[str, typer.Argument(metavar="STORY", help="The story's id.")],
    as_json: Annotated[bool, typer.Option("--json", help="It is JSON anyway.")] = False,
) -> None:
    """The evidence as JSON: gates, red and green tests, commit, pull, CI, landing, and what is UNVERIFIED.

    \b
    Example:  damascus receipt S-21
    """
    db, project = opened()
    print_json(receipts.receipt(db, project.row, story))
