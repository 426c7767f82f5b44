"""damascus tasks status: where the task graph stands."""

from typing import Annotated

import typer

from damascus.cli.opened import open_app, open_project
from damascus.cli.say import as_json as print_json
from damascus.cli.say import next_step, parts_in_lines, say, styled, wrapped
from damascus.cli.tables import table
from damascus.domain.verdict import TaskStatus
from damascus.people import task_status
from damascus.telling import tasks as in_words


def status(as_json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False) -> None:
    """Where the task graph stands: each task, its test contract, what it waits for, and what halts.

    \b
    Example:  damascus tasks status
    """
    opened_app = open_app()
    found = task_status.status(opened_app, open_project(opened_app))
    if as_json:
        print_json(found.published())
        return
    say(parts_in_lines(found.head))
    say()
    rows = [(one.task.story_id, one.task.title, one.status.value, *in_words.line(one)) for one in found.tasks]
    for one, text in zip(
        found.tasks, table(("task", "title", "status", "now", ""), rows, shrink=(1, 3))[1:], strict=True
    ):
        say(("! " if one.status is TaskStatus.BLOCKED else "  ") + _coloured(one.status, text))
    for text in found.halted:
        say(wrapped(text))
    for line in in_words.edited(found.edited):
        say(wrapped(line))
    next_step(found.following)


COLOURS = {TaskStatus.DONE: "green", TaskStatus.BLOCKED: "red", TaskStatus.STALE: "yellow"}


def _coloured(word: TaskStatus, text: str) -> str:
    return styled(text, COLOURS[word]) if word in COLOURS else text
