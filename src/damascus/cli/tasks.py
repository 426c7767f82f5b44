"""damascus tasks: an application from its task graph. A call imports the module of its verb alone (verbs.py)."""

from collections.abc import Mapping

import typer

from damascus.cli.verbs import Verb, VerbGroup

VERBS: Mapping[str, Verb] = {
    "check": Verb("tasks_check", "All that is wrong with a task graph.", "check"),
    "add": Verb("tasks_add", "Queue the tasks of a graph, all or none.", "add"),
    "status": Verb("tasks_status", "Where the task graph stands.", "status"),
    "run": Verb("tasks_run", "A command for several tasks at once.", "run"),
    "commit": Verb("tasks_commit", "Land the files beside the task graph.", "commit"),
}


class TaskVerbs(VerbGroup):
    verbs = VERBS


app = typer.Typer(
    cls=TaskVerbs,
    rich_markup_mode=None,
    no_args_is_help=True,
    help="An application from its task graph (docs/task-graph.md).",
)
