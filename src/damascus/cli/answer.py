"""damascus answer: a person decides."""

from contextlib import suppress
from typing import TYPE_CHECKING, Annotated

import typer

from damascus.cli.opened import of_story, open_app, open_project
from damascus.cli.say import next_step, say
from damascus.domain.errors import DamascusError, UsageError

if TYPE_CHECKING:
    from damascus.store.db import Database, Row


def answer(
    number: Annotated[int, typer.Argument(metavar="N", help="The question's number, as in `damascus inbox`.")],
    choice: Annotated[list[str], typer.Argument(metavar="CHOICE|TEXT…", help="An option's number, or your own words.")],
) -> None:
    """Answer a question: an option's number, or your own words, which the next agent is told.

    \b
    Example:  damascus answer 12 1
              damascus answer 12 2 use the Edit tool, not the shell
    """
    from damascus.cli.recoveries import recover
    from damascus.domain import recovery
    from damascus.store import people, views

    app = open_app()
    db, project = app.database, open_project(app)
    said = " ".join(choice)
    issue, text = people.answer(db, project.row.id, number, said)
    story = issue["story_id"]
    with suppress(DamascusError):  # the answer counts, wherever the story's files are
        project = of_story(app, project, story)
    if issue["kind"] == "write":
        _about_write(db, project.row.id, issue, text)
    elif story is not None and (chosen := recovery.chosen(issue["options"], said)) is not None:
        recover(db, project, issue, chosen)
    elif issue["about"] is not None and issue["about"]["about"] != "place":
        from damascus.cli.breakages import decide

        decide(db, project, issue, text)
    elif story is None:
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
    elif text == recovery.USE_SPEC and text in issue["options"]:
        acted = people.use_spec(db, project.row.id, story)
        people.close(db, project.row.id, issue, text)
        say(f"{story} goes on with the spec exactly as the question showed it.")
        next_step(f"damascus run, or if one runs: damascus why {story}")
    elif text in recovery.GOES_ON:
        acted = people.look_again(db, project.row.id, story, text)
        people.close(db, project.row.id, issue, text)
        how = "; no agent is sent, CI is looked at again" if text == recovery.LOOK_AGAIN else f": {text}"
        say(f"{story} goes on in phase {acted.phase} where it was{how}.")
        next_step(f"damascus run, or if one runs: damascus why {story}")
    else:
        acted = people.retry(db, project.row.id, story, None if text.startswith("retry") else text)
        people.close(db, project.row.id, issue, text)
        say(f"{story} goes on in phase {acted.phase} with a new budget: {text}")
        next_step(f"damascus run, or if one runs: damascus why {story}")


def _about_write(db: "Database", project: int, issue: "Row", text: str) -> None:
    """The agent waits for it, so the story itself is left alone."""
    from damascus.store import people
    from damascus.writes.person import parsed

    if parsed(text) is None:
        raise UsageError(f"question {issue['id']} is about a write. Answer apply, edit, or reject: and the reason.")
    people.close(db, project, issue, text)
    say(f"Question {issue['id']} is answered: {text}. {issue['story_id']} goes on.")
    next_step("damascus inbox")
