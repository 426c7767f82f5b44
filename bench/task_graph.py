"""A task graph of 2,000 tasks: checked as a person does it, from the command to its last line."""

import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench import queue_database
from bench.overhead import ENV
from bench.table import Result
from damascus.engine.maintenance.projector import Projector
from damascus.engine.tools import nothing
from damascus.lab.ground import Playground
from damascus.people import task_graph
from damascus.people.acts import Actor
from damascus.store.stream import publish
from damascus.tasks.check import check_graph
from damascus.tasks.graph import read_graph
from damascus.toolset import make_tools

TASKS, RUNS = 2_000, 7
CHECK_LIMIT = 0.5
ADD_LIMIT = 3.0
PROJECTED = 200
PROJECT_LIMIT = 0.05
AS_IF_LANDED = """\
WITH done AS (
    UPDATE work_items SET phase = 'done', state = 'resting', claims = 1, merged_commit = repeat('a', 40), pr_url = 'p',
           wait_kind = NULL, wait_key = NULL, not_before = NULL
     WHERE story_id = %s RETURNING id, project_id)
INSERT INTO events_outbox (project_id, item_id, kind, body)
SELECT project_id, id, 'story.landed', '{"commit": "a", "proof": "p"}' FROM done"""
IN_A_BATCH = 20
TASK = """\
### TASK-{number:04d}: Part {number} of the application
**Status:** PENDING
**Task type:** feature
**Platform:** web
**Domain:** part {number}
**depends_on:** {needs}
**can_parallel:** true
**output_files:**
- src/part_{number}/
- tests/test_part_{number}.py
**Acceptance criteria:**
- what goes in comes out
- what is wrong is told
**Test contract status:** REQUIRED
**Test contract:**
| TC | Behaviour | Kind | Test file | Command |
|---|---|---|---|---|
| TC-1 | what goes in comes out | unit | tests/test_part_{number}.py | |
| TC-2 | what is wrong is told | integration | tests/test_part_{number}.py | |
**Gate commands:**
- make lint

"""


def graph_text(tasks: int = TASKS) -> str:
    """Batches of twenty; each task needs three of the batch before."""
    told = [TASK.format(number=number, needs=_needs(number)) for number in range(tasks)]
    batches = [
        f"Batch {first // IN_A_BATCH + 1}: [{', '.join(f'TASK-{n:04d}' for n in range(first, last))}]\n"
        for first in range(0, tasks, IN_A_BATCH)
        if (last := min(first + IN_A_BATCH, tasks))
    ]
    return "".join(["# An application\n\n", *told, "## Parallelism Map\n", *batches])


def _needs(number: int) -> str:
    first = number // IN_A_BATCH * IN_A_BATCH - IN_A_BATCH
    return ", ".join(f"TASK-{first + (number + n) % IN_A_BATCH:04d}" for n in range(3)) if first >= 0 else "none"


def measure() -> list[Result]:
    return [_checked(), *_added(), _projected()]


def _added() -> list[Result]:
    """In an empty queue, then again with nothing edited: from the file to the end of the transaction."""
    with tempfile.TemporaryDirectory(prefix="damascus-bench-") as name, queue_database.server() as server:
        ground = Playground(Path(name), server.url())
        ground.write({"TASK-GRAPH.md": graph_text()})
        took, again = (_add_seconds(ground) for _ in range(2))
        ground.db.close()
    note = f"added again without an edit in {again:.2f} s"
    return [Result(f"tasks add of {TASKS:,} tasks, s", took, f"≤ {ADD_LIMIT:g}", took <= ADD_LIMIT, note)]


def _add_seconds(ground: Playground) -> float:
    project, began = ground.app.project(ground.repo), time.monotonic()
    difference = task_graph.compare(ground.db, project, ground.repo / "TASK-GRAPH.md")
    assert not difference.faults and len(difference.tasks) == TASKS
    task_graph.add(ground.app, project, difference, Actor("bench"))
    return time.monotonic() - began


def _checked() -> Result:
    damascus = str(Path(sys.executable).with_name("damascus"))
    with tempfile.TemporaryDirectory(prefix="damascus-bench-") as name:
        file = Path(name) / "TASK-GRAPH.md"
        file.write_text(graph_text())
        took = statistics.median(_seconds([damascus, "tasks", "check", file.name], file.parent) for _ in range(RUNS))
        bare = statistics.median(_seconds([damascus, "--help"], file.parent) for _ in range(RUNS))
        began = time.perf_counter()
        assert check_graph(read_graph(file.read_bytes(), file.name)) == []
        inside = time.perf_counter() - began
    note = f"median of {RUNS}; read and checked in {inside:.3f} s, damascus --help {bare:.3f} s in the same run"
    return Result(f"tasks check of {TASKS:,} tasks, s", took, f"≤ {CHECK_LIMIT:g}", took <= CHECK_LIMIT, note)


def _seconds(command: list[str], folder: Path) -> float:
    began = time.monotonic()
    subprocess.run(command, cwd=folder, env=ENV, check=True, capture_output=True)
    return time.monotonic() - began


def _projected() -> Result:
    """All files in the person's folder, written after each landing until half of the tasks are done."""
    with tempfile.TemporaryDirectory(prefix="damascus-bench-") as name, queue_database.server() as server:
        ground = Playground(Path(name), server.url(), files={"TASK-GRAPH.md": graph_text(PROJECTED)})
        project = ground.app.project(ground.repo)
        difference = task_graph.compare(ground.db, project, ground.repo / "TASK-GRAPH.md")
        task_graph.add(ground.app, project, difference, Actor("bench"))
        projector = Projector(make_tools(ground.app, project, None, lambda: False, nothing))
        took = [_project_seconds(ground, projector, number) for number in range(PROJECTED // 2)]
        ground.db.close()
    median, worst = statistics.median(took[1:]), max(took[1:])
    note = (
        f"median of {len(took) - 1}; the slowest {worst * 1000:.0f} ms, the first of a worker {took[0] * 1000:.0f} ms"
    )
    told = f"projection after a landing, {PROJECTED} tasks, ms"
    return Result(told, median * 1000, f"≤ {PROJECT_LIMIT * 1000:g}", median <= PROJECT_LIMIT, note)


def _project_seconds(ground: Playground, projector: Projector, number: int) -> float:
    ground.db.run(lambda c: c.execute(AS_IF_LANDED.encode(), (f"TASK-{number:04d}",)))
    publish(ground.db)
    began = time.monotonic()
    assert projector.look()
    return time.monotonic() - began
