"""damascus cancel: end a story."""

from typing import Annotated

import typer

from damascus.cli.opened import opened
from damascus.cli.say import tell
from damascus.people import stories


def cancel(story: Annotated[str, typer.Argument(metavar="STORY", help="The story's id.")]) -> None:
    """End a story. What an agent wrote is kept; its id can be added again.

    \b
    Example:  damascus cancel S-19
    """
    tell(stories.cancel(*opened(), story))
