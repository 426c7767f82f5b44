"""What a plan would do, before a person accepts it: faults of its task graph, what it touches, what it may cost."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median

from damascus.domain.ids import StoryId
from damascus.domain.money import in_dollars, in_tokens
from damascus.domain.scope import GLOB_CHARS, Scope
from damascus.domain.verdict import TaskStatus
from damascus.tasks.check import check_graph
from damascus.tasks.fields import TaskField
from damascus.tasks.graph import read_graph
from damascus.tasks.task import Fault, Task, TaskGraph
from damascus.tasks.values import quoted

SHOWN = 12
MOST_COMMANDS = 20
LONGEST_COMMAND = 150
SAMPLE = """\
### TASK-001: Prices of the shop
**Status:** PENDING
**Task type:** feature
**Platform:** python
**Dependencies:** none
**can_parallel:** true
**output_files:**
- shop/prices.py
- tests/test_prices.py
**Acceptance criteria:**
- A price without tax is refused.
**Test contract status:** REQUIRED

| TC | Behaviour | Kind | Test file |
|---|---|---|---|
| TC-1 | a price has tax | unit | tests/test_prices.py |

## Parallelism Map
Batch 1: [TASK-001]
"""
"""The format, as a planner is shown it."""


def graph_faults(raw: bytes | None, name: str, before: bytes | None = None) -> list[str]:
    """Each with its line; empty: `damascus tasks add` would take it. `before`: the graph that main has."""
    if raw is None:
        return [f"{name} is not there. Write the task graph into it."]
    graph = read_graph(raw, name)
    known = {task.id: task for task in read_graph(before, name).tasks} if before is not None else {}
    found = sorted([*check_graph(graph, name), *_claimed(graph, known)])
    return [f"{name} line {fault.line}: {fault.text}" for fault in found]


def _claimed(graph: TaskGraph, known: Mapping[StoryId, Task]) -> Iterator[Fault]:
    """What became of a task is not a planner's to say: it begins as PENDING, or stays as main has it."""
    for task in graph.tasks:
        was = known.get(task.id)
        if task.status.upper() not in ("", TaskStatus.PENDING, was.status.upper() if was else ""):
            text = (
                f"{task.id} has the status {quoted(task.status)}. A plan's tasks are PENDING; leave the others alone."
            )
            yield Fault(task.line_of(TaskField.STATUS), text)
        if task.checkpoint not in ("", was.checkpoint if was else ""):
            text = f"{task.id} has a Checkpoint. Damascus writes it when the task is on main: take it out."
            yield Fault(task.line_of(TaskField.CHECKPOINT), text)


def commands_told(before: bytes | None, after: bytes, name: str) -> str:
    """The commands that a plan's new and changed tasks name: whoever accepts it lets them run. "": none."""
    was, now = (_by_id(read_graph(raw, name)) if raw is not None else {} for raw in (before, after))
    tasks = [task for ident, task in now.items() if was.get(ident) != task]
    named = [text for task in tasks for text in (*task.gate_commands, *(one.command for one in task.contracts)) if text]
    every = list(dict.fromkeys(named))
    more = f" and {len(every) - MOST_COMMANDS} more (damascus diff shows all)" if len(every) > MOST_COMMANDS else ""
    told = ", ".join(f"`{_short(each)}`" for each in every[:MOST_COMMANDS])
    return f"Commands that will be run for it: {told}{more}." if every else ""


def _short(command: str) -> str:
    line = " ; ".join(command.split("\n"))
    return line if len(line) <= LONGEST_COMMAND else f"{line[: LONGEST_COMMAND - 1]}…"


@dataclass(frozen=True)
class StoryCost:
    """What one landed story used: tokens, and millionths of a dollar where every model has a price."""

    tokens: int
    microdollars: int | None


@dataclass(frozen=True)
class PlanRadius:
    """Tasks by what becomes of them, tasks that are in the queue already, and files that main has."""

    new: tuple[str, ...]
    changed: tuple[str, ...]
    gone: tuple[str, ...]
    begun: tuple[str, ...]
    """Of the changed and gone: those that the queue has, with their phase."""
    files: tuple[str, ...]
    created: int

    @property
    def work(self) -> int:
        return len(self.new) + len(self.changed)


def blast_radius(
    before: bytes | None, after: bytes, files: Collection[str], queue: Mapping[str, str], name: str = "the graph"
) -> PlanRadius:
    """`queue`: the phase of each story that is known, by id."""
    was, now = (_by_id(read_graph(raw, name)) if raw is not None else {} for raw in (before, after))
    changed = [ident for ident in now if ident in was and now[ident] != was[ident]]
    gone = [ident for ident in was if ident not in now]
    concerned = [*(ident for ident in now if ident not in was), *changed]
    named = list(dict.fromkeys(path for ident in concerned for path in now[ident].output_files))
    there = _there(named, files)
    return PlanRadius(
        new=tuple(ident for ident in now if ident not in was),
        changed=tuple(changed),
        gone=tuple(gone),
        begun=tuple(f"{each} ({queue[each]})" for each in (*concerned, *gone) if each in queue),
        files=tuple(there),
        created=len([path for path in named if not GLOB_CHARS.search(path) and path not in files]),
    )


def _by_id(graph: TaskGraph) -> dict[str, Task]:
    """Without what is a projection, or only a place."""
    return {str(task.id): replace(task, line=0, status="", checkpoint="") for task in graph.tasks}


def _there(named: Sequence[str], files: Collection[str]) -> list[str]:
    exact = {path for path in named if path in files}
    wide = [path for path in named if path.endswith("/") or GLOB_CHARS.search(path)]
    scope = Scope(tuple(wide))
    return sorted(exact | ({path for path in files if scope.allows(path)} if wide else set()))


def told(radius: PlanRadius, costs: Sequence[StoryCost], most: str) -> str:
    """In sentences. `most` is what a story may use at most, where none has landed yet."""
    parts = [("new", radius.new), ("changed", radius.changed), ("no longer in it", radius.gone)]
    tasks = "; ".join(f"{len(ids)} {word} ({_few(ids)})" for word, ids in parts if ids) or "none differs"
    lines = [f"Tasks: {tasks}."]
    lines += [f"Already in the queue: {_few(radius.begun)}."] if radius.begun else []
    there = f"{len(radius.files)} that main has ({_few(radius.files)})" if radius.files else "none that main has"
    lines.append(f"Files they may write: {there}, {radius.created} new.")
    lines.append(f"Estimate: {estimate(radius.work, costs, most)}")
    return " ".join(lines)


def estimate(tasks: int, costs: Sequence[StoryCost], most: str) -> str:
    if not costs:
        return f"no story has landed here, so nothing is known of what {tasks} tasks cost; each may use {most}."
    middle = int(median(each.tokens for each in costs))
    dollars = [each.microdollars for each in costs if each.microdollars is not None]
    priced = f", {in_dollars(int(median(dollars)) * tasks)}" if len(dollars) == len(costs) and any(dollars) else ""
    return f"about {in_tokens(middle * tasks)}{priced}, by the median of {len(costs)} landed stories; only an estimate."


def _few(names: Sequence[str]) -> str:
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ", ".join(names[:SHOWN]) + more
