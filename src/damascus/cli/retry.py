"""damascus retry: a new run and a new budget."""

from typing import Annotated

import typer

from damascus.cli.opened import opened
from damascus.cli.say import next_step, say


def retry(story: Annotated[str, typer.Argument(metavar="STORY", help="The story's id.")]) -> None:
    """Give a story that is not finished a new run and a new budget of tries.

    \b
    Example:  damascus retry S-19
    """
    from damascus.store import people

    db, project = opened()
    acted = people.retry(db, project.row.id, story)
    taken = " It was taken from the worker that had it." if acted.was_leased else ""
    say(f"{acted.story_id} goes on in phase {acted.phase} with a new budget.{taken}")
    next_step(f"damascus run, or if one runs: damascus why {acted.story_id}")
