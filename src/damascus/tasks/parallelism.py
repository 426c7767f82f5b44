"""The Parallelism Map of a task graph: `Batch 2 (depends on Batch 1): [TASK-002, TASK-003]`, a line each."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from damascus.domain.ids import StoryId
from damascus.tasks.task import Fault
from damascus.tasks.values import ITEM, NOTHING, is_task_id, quoted

BATCH = re.compile(r"[ \t]{0,8}(?:[-*+][ \t]{1,4})?[*_]{0,2}batch[ \t]{1,4}(\d{1,6})\b", re.IGNORECASE)


@dataclass
class _Batch:
    number: int
    line: int
    tasks: list[StoryId] = field(default_factory=list)


@dataclass(frozen=True)
class ParallelismMap:
    """The batches in the order of the file, the line of each, and what can't be read."""

    batches: tuple[tuple[StoryId, ...], ...]
    lines: tuple[int, ...]
    faults: tuple[Fault, ...]


def read_map(lines: Sequence[tuple[int, str]]) -> ParallelismMap:
    found: list[_Batch] = []
    faults: list[Fault] = []
    for number, line in lines:
        begun = BATCH.match(line)
        if begun:
            found.append(_Batch(int(begun[1]), number))
            faults += _add(found[-1], number, line[begun.end() :].partition(":")[2])
        elif found and (mark := ITEM.match(line)):
            faults += _add(found[-1], number, line[mark.end() :])
    tasks = tuple(tuple(dict.fromkeys(batch.tasks)) for batch in found)
    return ParallelismMap(tasks, tuple(batch.line for batch in found), (*faults, *_twice(found)))


def _add(batch: _Batch, number: int, text: str) -> list[Fault]:
    """The ids of a line; what is none is told."""
    words = [part.strip("[]*_`. \t\r") for part in text.split(",")]
    named = [word for word in words if word.lower() not in NOTHING]
    batch.tasks += [StoryId(word) for word in named if is_task_id(word)]
    return [
        Fault(
            number, f"batch {batch.number} lists {quoted(word)}, which is no id of a task. Write TASK-001, TASK-002, …"
        )
        for word in named
        if not is_task_id(word)
    ]


def _twice(found: Sequence[_Batch]) -> Iterator[Fault]:
    seen: set[int] = set()
    for batch in found:
        if batch.number in seen:
            text = f"the Parallelism Map has batch {batch.number} twice. Number its batches 1, 2, 3, …"
            yield Fault(batch.line, text)
        seen.add(batch.number)
