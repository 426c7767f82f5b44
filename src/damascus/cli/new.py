"""damascus new: a spec to edit, from one sentence."""

from pathlib import Path
from typing import Annotated

import typer

from damascus.cli.opened import opened
from damascus.cli.say import tell
from damascus.people import new_specs


def new(
    sentence: Annotated[str, typer.Argument(metavar="SENTENCE", help="What is wanted, in one sentence.")],
    story: Annotated[str, typer.Option("--id", metavar="STORY", help="Its id. Default: the next free one.")] = "",
    out: Annotated[str, typer.Option("--out", metavar="FILE", help="Default: specs/ID.md.")] = "",
    rough: Annotated[
        bool, typer.Option("--rough", help="Leave the rest to the agent; you approve what it writes, in the inbox.")
    ] = False,
) -> None:
    """Write a spec to edit: id, title, Test Command and test folder are filled in; what only you can say is marked.

    With --rough it has only your sentence: requirements, scope and plan are written by the agent's refiner once the
    story is run, and nothing is built before you have approved them.

    \b
    Example:  damascus new "slugify keeps digits"
              damascus new "slugify keeps digits" --rough
              damascus new "CSV import" --id S-21 --out specs/S-21.md
    """
    wanted = new_specs.wanted(sentence)
    tell(new_specs.write(*opened(), wanted, here=Path.cwd(), story=story, out=out, rough=rough))
