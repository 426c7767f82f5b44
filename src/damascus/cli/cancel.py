"""damascus cancel: end a story."""

from typing import Annotated

import typer

from damascus.cli.opened import opened
from damascus.cli.say import next_step, say


def cancel(story: Annotated[str, typer.Argument(metavar="STORY", help="The story's id.")]) -> None:
    """End a story. What an agent wrote is kept; its id can be added again.

    \b
    Example:  damascus cancel S-19
    """
    from damascus.store import people

    db, project = opened()
    acted = people.cancel(db, project.row.id, story)
    taken = " The worker that had it is shut out." if acted.was_leased else ""
    say(f"{acted.story_id} is cancelled.{taken}")
    next_step(f"damascus rescue list {acted.story_id}")
