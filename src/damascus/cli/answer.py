"""damascus answer: a person decides."""

from contextlib import suppress
from typing import TYPE_CHECKING, Annotated

import typer

from damascus.cli.opened import of_story, open_app, open_project
from damascus.cli.say import next_step, say
from damascus.domain.errors import DamascusError, UsageError

if TYPE_CHECKING:
    from damascus.app import App, Project
    from damascus.domain.recovery import Chosen
    from damascus.store.db import Row

Words = Annotated[list[str], typer.Argument(metavar="N CHOICE|TEXT…", help="The question's number, then your answer.")]
Every = Annotated[bool, typer.Option("--all", help="The same answer to every question that offers it.")]


def answer(words: Words, every: Every = False) -> None:
    """Answer a question: by an option's number or id, with words of yours if you like, or by your words alone.

    Words alone are never taken for an option: the next agent is told them as they are.

    \b
    Example:  damascus answer 12 1
              damascus answer 12 2 use the Edit tool, not the shell
              damascus answer 12 look_again
              damascus answer 12 send_back name it parse, not read
              damascus answer --all 1
    """
    if not every and (not words[0].isdecimal() or len(words) < 2):
        raise UsageError("which question, and what answer? Write it like: damascus answer 12 1 (see: damascus inbox)")
    app = open_app()
    project = open_project(app)
    if every:
        _answer_all(app, project, " ".join(words))
        return
    _answer(app, project, int(words[0]), " ".join(words[1:]))


def _answer_all(app: "App", project: "Project", said: str) -> None:
    """What the first question offers there; others that offer the same get the same answer, the rest are left."""
    from damascus.domain import recovery

    asked = app.database.all("open_issues", project=project.row.id)
    choices = {row["id"]: _chosen(row, said) for row in asked if _offers(row, said)}
    if not choices:
        raise DamascusError(f"no open question has an option {said.split(maxsplit=1)[0]!r}. See them: damascus inbox")
    first = next(iter(choices.values()))
    meant = [number for number, choice in choices.items() if (choice.id, choice.option) == (first.id, first.option)]
    for number in meant:
        _answer(app, project, number, said, quiet=True)
    left = len(asked) - len(meant)
    effect = recovery.option_of(first.option).effect
    say(f"{len(meant)} questions are answered: {first.told} ({effect})." + (f" {left} are left." if left else ""))
    next_step("damascus inbox" if left else "damascus run, or if one runs: damascus status")


def _offers(row: "Row", said: str) -> bool:
    with suppress(DamascusError):
        return row["kind"] != "write" and bool(_chosen(row, said).option)
    return False


def _chosen(row: "Row", said: str) -> "Chosen":
    from damascus.domain import recovery

    return recovery.chosen(row["options"], said, row["id"], story=row["story_id"] is not None)


def _answer(app: "App", project: "Project", number: int, said: str, *, quiet: bool = False) -> None:
    from damascus.cli.recoveries import about_story
    from damascus.store import people

    db = app.database
    issue = people.open_question(db, project.row.id, number)
    story = issue["story_id"]
    if story is not None:
        with suppress(DamascusError):  # the answer counts, wherever the story's files are
            project = of_story(app, project, story)
    if issue["kind"] == "write":
        _about_write(app, project, issue, said)
        return
    choice = _chosen(issue, said)
    if story is not None:
        done, following = about_story(db, project, issue, choice)
    elif issue["about"] is not None and issue["about"]["about"] not in ("place", "agent"):
        from damascus.cli.breakages import decide

        done, following = decide(db, project, issue, choice), "damascus graph"
    else:
        people.close(db, project.row.id, issue, choice.told)
        done, following = f"Question {number} is answered: {choice.told}.", "damascus inbox"
    if not quiet:
        say(done)
        next_step(following)


def _about_write(app: "App", project: "Project", issue: "Row", said: str) -> None:
    """The agent waits for it, so the story itself is left alone."""
    from damascus.store import people
    from damascus.writes.person import parsed

    words = issue["options"]
    text = words[int(said) - 1] if said.isdecimal() and 1 <= int(said) <= len(words) else said
    if parsed(text) is None:
        raise UsageError(f"question {issue['id']} is about a write. Answer apply, edit, or reject: and the reason.")
    people.close(app.database, project.row.id, issue, text)
    say(f"Question {issue['id']} is answered: {text}. {issue['story_id']} goes on.")
    next_step("damascus inbox")
