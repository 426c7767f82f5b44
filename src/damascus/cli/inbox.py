"""damascus inbox: what only a person can decide."""

from typing import Annotated

import typer

from damascus.app import Project
from damascus.cli.opened import opened
from damascus.cli.say import as_json as print_json
from damascus.cli.say import columns, next_step, say, styled, wrapped
from damascus.people import questions
from damascus.store.db import Row
from damascus.telling import asked
from damascus.telling import inbox as wording


def inbox(as_json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False) -> None:
    """The questions that only a person can answer, the most urgent first.

    \b
    Example:  damascus inbox
    """
    db, project = opened()
    found = questions.open_questions(db, project)
    if as_json:
        print_json({"issues": [questions.published(issue) for issue in found]})
        return
    for issue in found:
        _say(issue, project)
    if not found:
        say("Nothing needs you.")
    next_step(asked.command(found[0]) if found else "damascus status")


def _say(issue: Row, project: Project) -> None:
    story, told = issue["story_id"], wording.told(issue)
    head = wrapped(told.about, "    ", first=f"{told.number}  {f'{story}  ' if story else ''}")
    say(head.replace(str(told.number), styled(str(told.number), "bold"), 1))
    say(wrapped(f"asks: {told.question}", "    "))
    for line in told.shown:
        say(f"      {line}".rstrip())
    for answer in told.answers:
        say(wrapped(f"[{answer.number}] {answer.text}{f' ({answer.effect})' if answer.effect else ''}", "    "))
    for note in told.notes:
        say(wrapped(note, "    "))
    _say_acts(told.way, f"look: damascus show {story}{_kept_at(project, story)}" if story else "")


def _say_acts(answer: str, look: str) -> None:
    """On one line where there is room."""
    together = f"    {answer}{' ' * 8 if look else ''}{look}"
    if len(together) < columns():
        say(together)
        return
    for each in (answer, look):
        say(wrapped(each, "    "))


def _kept_at(project: Project, story: str) -> str:
    workspace = project.worktrees / story
    return f", workspace kept at {workspace}" if workspace.exists() else ""
