"""damascus tasks check: a file is enough. Neither store nor engine is imported: a large graph is read at once."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from damascus.cli.say import as_json as print_json
from damascus.cli.say import aside, next_step, say
from damascus.people.task_check import CheckedGraph, check_here
from damascus.tasks.task import Fault
from damascus.telling.phrases import listed, one_line, plural

GraphFile = Annotated[Path, typer.Argument(metavar="FILE", help="The task graph: TASK-GRAPH.md.")]


def check(
    file: GraphFile,
    as_json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
) -> int:
    """Check a task graph: every fault with its line, all at once. Needs no project and no database; in a project's
    folder it also says what `damascus tasks add` would say. Exit code 2 if there is a fault.

    \b
    Example:  damascus tasks check TASK-GRAPH.md
    """
    found = check_here(file, os.environ)
    if as_json:
        print_json(_as_record(found))
    else:
        _say_checked(found)
    return 2 if found.faults else 0


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
        say_faults(found.name, found.faults)
        return
    batches = f", {plural(len(found.graph.batches), 'batch', 'batches')}" if found.graph.batches else ""
    say(f"{found.name}: {plural(len(found.graph.tasks), 'task')}{batches}. Can start at once: {listed(found.first)}.")
    next_step(f"damascus tasks add {found.name}")


def say_faults(name: str, faults: Sequence[Fault]) -> None:
    for fault in faults:
        say(one_line(f"{name}:{fault.line}: {fault.text}"))
    next_step(f"correct {plural(len(faults), 'fault')}, then damascus tasks check {name}")
