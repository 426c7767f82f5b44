"""damascus answer: a person decides."""

from typing import Annotated

import typer

from damascus.cli.opened import opened
from damascus.cli.say import next_step, say


def answer(
    number: Annotated[int, typer.Argument(metavar="N", help="The question's number, as in `damascus inbox`.")],
    choice: Annotated[list[str], typer.Argument(metavar="CHOICE|TEXT", help="An option's number, or your own words.")],
) -> None:
    """Answer a question: an option's number, or your own words, which the next agent is told.

    \b
    Example:  damascus answer 12 1
    """
    from damascus.store import people, views

    db, project = opened()
    issue, text = people.answer(db, project.row.id, number, " ".join(choice))
    story = issue["story_id"]
    if story is None:
        people.close(db, project.row.id, issue, text)
        say(f"Question {number} is answered: {text}.")
        next_step("damascus inbox")
    elif text.startswith("edit the spec"):
        say(f"{story} stays blocked, question {number} open, until you add its corrected spec.")
        next_step(f"damascus add {views.whole_row(db, project.row, story)['spec_path']}")
    elif text.startswith("cancel"):
        people.cancel(db, project.row.id, story)
        people.close(db, project.row.id, issue, text)
        say(f"{story} is cancelled. What an agent wrote is kept: damascus rescue list {story}")
        next_step("damascus inbox")
    else:
        acted = people.retry(db, project.row.id, story, None if text.startswith("retry") else text)
        people.close(db, project.row.id, issue, text)
        say(f"{story} goes on in phase {acted.phase} with a new budget: {text}")
        next_step(f"damascus run, or if one runs: damascus why {story}")
