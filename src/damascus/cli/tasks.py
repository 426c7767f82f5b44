"""damascus tasks: an application from its task graph."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from damascus.cli.opened import open_app, open_project, person_in
from damascus.cli.say import as_json as print_json
from damascus.cli.say import aside, next_step, parts_in_lines, say, styled, tell, wrapped
from damascus.cli.tables import table
from damascus.cli.tasks_commit import commit
from damascus.cli.tasks_run import run
from damascus.domain.verdict import TaskStatus
from damascus.people import task_graph, task_status
from damascus.people.changes_of_tasks import BlastRadius
from damascus.people.changes_of_tasks import told as touches
from damascus.people.task_check import CheckedGraph
from damascus.people.task_check import check as checked
from damascus.tasks.task import Fault
from damascus.telling import tasks as in_words
from damascus.telling.phrases import listed, one_line, plural

app = typer.Typer(
    rich_markup_mode=None,
    no_args_is_help=True,
    help="An application from its task graph (docs/task-graph.md).",
)
GraphFile = Annotated[Path, typer.Argument(metavar="FILE", help="The task graph: TASK-GRAPH.md.")]


@app.command("check", short_help="All that is wrong with a task graph.")
def check(
    file: GraphFile,
    as_json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
) -> int:
    """Check a task graph: every fault with its line, all at once. Needs no project and no database.
    Exit code 2 if there is a fault.

    \b
    Example:  damascus tasks check TASK-GRAPH.md
    """
    found = checked(file)
    if as_json:
        print_json(_as_record(found))
    else:
        _say_checked(found)
    return 2 if found.faults else 0


app.command("commit", short_help="Land the files beside the task graph.")(commit)
app.command("run", short_help="A command for several tasks at once.")(run)


def _as_record(found: CheckedGraph) -> dict[str, object]:
    return {
        "file": found.name,
        "tasks": len(found.graph.tasks),
        "batches": [list(batch) for batch in found.graph.batches],
        "first": found.first,
        "faults": [{"line": fault.line, "text": fault.text} for fault in found.faults],
        "notes": [{"line": note.line, "text": note.text} for note in found.graph.notes],
    }


def _say_checked(found: CheckedGraph) -> None:
    for note in found.graph.notes:
        aside("note", f"{found.name}:{note.line}: {note.text}")
    if found.faults:
        _say_faults(found.name, found.faults)
        return
    batches = f", {plural(len(found.graph.batches), 'batch', 'batches')}" if found.graph.batches else ""
    say(f"{found.name}: {plural(len(found.graph.tasks), 'task')}{batches}. Can start at once: {listed(found.first)}.")
    next_step(f"damascus tasks add {found.name}")


def _say_faults(name: str, faults: Sequence[Fault]) -> None:
    for fault in faults:
        say(one_line(f"{name}:{fault.line}: {fault.text}"))
    next_step(f"correct {plural(len(faults), 'fault')}, then damascus tasks check {name}")


@app.command("add", short_help="Queue the tasks of a graph, all or none.")
def add(
    file: GraphFile,
    yes: Annotated[bool, typer.Option("--yes", help="DONE tasks that were edited become STALE; nobody asks.")] = False,
) -> int:
    """Queue every task of a graph as a story, all or none. After an edit only what nobody has begun is changed. A DONE
    task that was edited becomes STALE if you say so; what was begun or removed is told.

    \b
    Example:  damascus tasks add TASK-GRAPH.md
    """
    opened_app = open_app()
    project = open_project(opened_app)
    difference = task_graph.compare(opened_app.database, project, file)
    if difference.faults:
        _say_faults(difference.name, difference.faults)
        return 2
    for text in difference.warnings:
        aside("warning", text)
    radius = task_graph.touched(opened_app, project, difference)
    stale = radius is not None and _agreed(radius, yes=yes)
    tell(task_graph.add(opened_app, project, difference, person_in(project), stale=stale))
    return 0


def _agreed(radius: BlastRadius, *, yes: bool) -> bool:
    """What it touches is shown first. Without a terminal to ask at, and without --yes, nothing of it is done."""
    say(f"{', '.join(radius.stories)}: DONE, and edited since. What that touches:")
    for line in touches(radius):
        say(wrapped(line, "    ", first="  "))
    return yes or (sys.stdin.isatty() and typer.confirm("Shall they become STALE?", default=False))


@app.command("status", short_help="Where the task graph stands.")
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
