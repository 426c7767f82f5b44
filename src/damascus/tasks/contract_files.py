"""Test files that a task's contract names and that the task may not write: its tests could never be written there."""

import re
from collections.abc import Iterator, Sequence
from math import comb

from damascus.domain.scope import GLOB_CHARS, Scope
from damascus.tasks.fields import TaskField
from damascus.tasks.task import Fault, Task
from damascus.tasks.values import quoted

MOST_STEPS = 20_000_000
"""What a search for all of them may cost: globs of many wildcards and long paths can ask for far more than this."""


def outside(tasks: Sequence[Task]) -> Iterator[Fault]:
    steps = 0
    for task in tasks:
        globs = [path for path in task.output_files if GLOB_CHARS.search(path)]
        known = set(task.output_files)
        for one in task.contracts:
            if _below(one.file, known):
                continue
            steps += sum(_steps(glob, one.file) for glob in globs)
            line = task.line_of(TaskField.CONTRACT, one.id)
            if steps > MOST_STEPS:
                yield Fault(
                    task.line, f"{task.id} and those before have too many wildcards in output_files. Name folders."
                )
                return
            if not Scope(tuple(globs)).allows(one.file):
                text = f"{task.id} may not write {quoted(one.file)}, the test file of {one.id}. Add it to output_files."
                yield Fault(line, text)


def _below(file: str, known: set[str]) -> bool:
    """Is it written in so many words, or a folder of it?"""
    folder = file
    while folder:
        if folder in known:
            return True
        folder = folder.rstrip("/").rpartition("/")[0]
        folder = f"{folder}/" if folder else ""
    return False


def _steps(glob: str, file: str) -> int:
    """At most so many ways to try: a wildcard may end anywhere."""
    wild = len(re.findall(r"\*+", glob))
    choices: int = (1 + glob.count(",")) ** min(glob.count("{"), 8)
    return min(comb(len(file) + wild, wild) * choices, MOST_STEPS + 1)
