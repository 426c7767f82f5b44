"""damascus approve and send-back: a person's word on a story that is judged ([review] approval)."""

from typing import Annotated

import typer

from damascus.cli.change import confirmed
from damascus.cli.opened import opened_for, person_in
from damascus.cli.say import say, tell
from damascus.people import changes_of_tasks, stories
from damascus.telling.phrases import plain

Story = Annotated[str, typer.Argument(metavar="STORY", help="The story's id.")]
Words = Annotated[list[str], typer.Argument(metavar="WORDS…", help="What has to be different; the agent is told.")]


def approve(
    story: Story,
    yes: Annotated[
        bool, typer.Option("--yes", help="Of a STALE story, without asking; needed where there is no terminal.")
    ] = False,
) -> None:
    """Approve a story that is waiting for you: it lands in its turn. Only the change that you were shown is approved.

    A STALE story is built anew from its spec; the old tests that it may change are shown first.

    \b
    Example:  damascus approve S-21      (what it changes: damascus diff S-21)
    """
    db, project = opened_for(story)
    tests = changes_of_tasks.concerned(db, project, story)
    if tests is None:
        tell(stories.approve(db, project, story, person_in(project)))
        return
    say("Old tests that may change:" if tests else "No old test is concerned.")
    for test in tests:
        say(f"  {plain(test)}")
    confirmed(f"Shall {story} be built anew from its spec?", yes=yes)
    tell(changes_of_tasks.approve_stale(db, project, story, person_in(project)))


def send_back(story: Story, words: Words) -> None:
    """Send a story that is waiting for you back to its agent, with your words and a new budget.

    \b
    Example:  damascus send-back S-21 name it parse, not read
    """
    db, project = opened_for(story)
    tell(stories.send_back(db, project, story, person_in(project), " ".join(words)))
