"""damascus approve and send-back: a person's word on a story that is judged ([review] approval)."""

from typing import Annotated

import typer

from damascus.cli.opened import opened_for
from damascus.cli.say import next_step, say

Story = Annotated[str, typer.Argument(metavar="STORY", help="The story's id.")]
Words = Annotated[list[str], typer.Argument(metavar="WORDS…", help="What has to be different; the agent is told.")]


def approve(story: Story) -> None:
    """Let a story land that waits for your word. It holds for the change as it is shown, wherever main is then.

    \b
    Example:  damascus approve S-21      (what it changes: damascus diff S-21)
    """
    from damascus.cli.recoveries import approved

    db, project = opened_for(story)
    done, following = approved(db, project, story)
    say(done)
    next_step(following)


def send_back(story: Story, words: Words) -> None:
    """Send a story that waits for your word back to its agent, which is told yours and gets a new budget.

    \b
    Example:  damascus send-back S-21 name it parse, not read
    """
    from damascus.cli.recoveries import sent_back

    db, project = opened_for(story)
    done, following = sent_back(db, project, story, " ".join(words))
    say(done)
    next_step(following)
