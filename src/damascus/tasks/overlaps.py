"""Output files that two tasks share: found in one sweep over the text ranges of their scopes (domain/scope.py)."""

import heapq
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from damascus.domain.scope import span_of
from damascus.tasks.task import Task

Edge = tuple[str, int]
"""Where a span ends: a path itself reaches one further than what begins there."""


@dataclass(frozen=True)
class Shared:
    """`task` writes `path`, which `other` writes too."""

    task: Task
    other: Task
    path: str


def shared_files(tasks: Sequence[Task], apart: Sequence[int]) -> Iterator[Shared]:
    """For each task the first overlap with one that nothing keeps apart from it. `apart` has a set for each task, as
    bits: itself, and whoever may write the same files."""
    ends: list[tuple[Edge, int]] = []
    open_, counts, told = 0, [0] * len(tasks), set()
    for lower, number, upper, path in sorted(_spans(tasks)):
        while ends and ends[0][0] <= (lower, 0):
            ended = heapq.heappop(ends)[1]
            counts[ended] -= 1
            open_ &= ~(0 if counts[ended] else 1 << ended)
        if number not in told and (met := open_ & ~apart[number]):
            told.add(number)
            yield _shared(tasks, number, (met & -met).bit_length() - 1, path)
        heapq.heappush(ends, (upper, number))
        counts[number] += 1
        open_ |= 1 << number


def _spans(tasks: Sequence[Task]) -> Iterator[tuple[str, int, Edge, str]]:
    for number, task in enumerate(tasks):
        for path in task.output_files:
            span = span_of(path)
            yield span.lower, number, (span.lower, 1) if span.upper is None else (span.upper, 0), path


def _shared(tasks: Sequence[Task], one: int, two: int, path: str) -> Shared:
    """Told at the later of the two."""
    first, last = sorted((one, two))
    return Shared(tasks[last], tasks[first], path)
