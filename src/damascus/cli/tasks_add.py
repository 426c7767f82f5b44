"""damascus tasks add: the tasks of a graph become stories, all or none."""

import sys
from typing import Annotated

import typer

from damascus.cli.opened import open_app, open_project, person_in
from damascus.cli.say import aside, say, tell, wrapped
from damascus.cli.tasks_check import GraphFile, say_faults
from damascus.people import task_graph
from damascus.people.changes_of_tasks import BlastRadius
from damascus.people.changes_of_tasks import told as touches


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
        say_faults(difference.name, difference.faults)
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
