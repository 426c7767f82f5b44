"""damascus approve and send-back: a person's word on a story that is judged ([review] approval)."""

from typing import Annotated

import typer

from damascus.cli.opened import opened_for, person_in
from damascus.cli.say import tell
from damascus.people import stories

Story = Annotated[str, typer.Argument(metavar="STORY", help="The story's id.")]
Words = Annotated[list[str], typer.Argument(metavar="WORDS…", help="What has to be different; the agent is told.")]


def approve(story: Story) -> None:
    """Approve a story that is waiting for you: it lands in its turn. Only the change that you were shown is approved.

    \b
    Example:  damascus approve S-21      (what it changes: damascus diff S-21)
    """
    db, project = opened_for(story)
    tell(stories.approve(db, project, story, person_in(project)))


def send_back(story: Story, words: Words) -> None:
    """Send a story that is waiting for you back to its agent, with your words and a new budget.

    \b
    Example:  damascus send-back S-21 name it parse, not read
    """
    db, project = opened_for(story)
    tell(stories.send_back(db, project, story, person_in(project), " ".join(words)))
