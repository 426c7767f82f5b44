"""damascus tasks: an application from its task graph."""

from pathlib import Path
from typing import Annotated

import typer

from damascus.cli.say import as_json as print_json
from damascus.cli.say import aside, next_step, say
from damascus.cli.tasks_commit import commit
from damascus.cli.tasks_run import run
from damascus.people.task_check import CheckedGraph
from damascus.people.task_check import check as checked
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
    for fault in found.faults:
        say(one_line(f"{found.name}:{fault.line}: {fault.text}"))
    if found.faults:
        next_step(f"correct {plural(len(found.faults), 'fault')}, then damascus tasks check {found.name}")
        return
    batches = f", {plural(len(found.graph.batches), 'batch', 'batches')}" if found.graph.batches else ""
    say(f"{found.name}: {plural(len(found.graph.tasks), 'task')}{batches}. Can start at once: {listed(found.first)}.")
    next_step(f"damascus tasks add {found.name}")
