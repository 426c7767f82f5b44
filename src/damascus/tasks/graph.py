"""A `TASK-GRAPH.md` read (docs/task-graph.md): its tasks, its Parallelism Map, and whatever can't be read, by line.

Nothing in a file makes it raise: what is wrong is a fault, and all faults are told at once. Linear in the file's size.
"""

import re
from collections.abc import Iterator, Sequence

from damascus.domain.errors import UsageError
from damascus.domain.file_text import decode
from damascus.tasks.blocks import Block, read_blocks
from damascus.tasks.parallelism import read_map
from damascus.tasks.task import Fault, Task, TaskGraph
from damascus.tasks.task_reader import TaskReader
from damascus.tasks.values import quoted

__all__ = ["Fault", "Graph", "Task", "TaskGraph", "read_graph"]

Graph = TaskGraph
"""Short for who reads one graph alone; the graph of repositories is domain.graph's."""
LARGEST_GRAPH = 5_000_000
MOST_LINES = 300_000
MOST_TASKS = 10_000
LONGEST_LINE = 20_000
UNPRINTABLE = re.compile("[\x01-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
"""Control characters, and those that turn a line round: what a person sees is what is built."""


def read_graph(raw: bytes, name: str) -> TaskGraph:
    """Whatever the bytes are, a graph comes back; `faults` say what is wrong with them."""
    if len(raw) > LARGEST_GRAPH:
        return _nothing(1, f"{name} is larger than {LARGEST_GRAPH:,} bytes. Split it into several graphs.")
    try:
        text = decode(raw, name)
    except UsageError as err:
        return _nothing(_line_of_bad_byte(raw), str(err))
    lines = text.split("\n")
    if len(lines) > MOST_LINES:
        return _nothing(1, f"{name} has more than {MOST_LINES:,} lines. Split it into several graphs.")
    found = read_blocks([line[:LONGEST_LINE] for line in lines])
    if not found.tasks:
        return _nothing(1, f"{name} has no task. Begin each with a heading: ### TASK-001: what it does.")
    if len(found.tasks) > MOST_TASKS:
        return _nothing(1, f"{name} has more than {MOST_TASKS:,} tasks. Split it into several graphs.")
    tasks, faults = _tasks(found.tasks)
    batches = read_map(found.map)
    faults += [*batches.faults, *_of_lines(lines), *_unclosed(found.unclosed)]
    notes = tuple(_notes(found.tasks))
    return TaskGraph(tuple(tasks), batches.batches, tuple(sorted(faults)), batches.lines, notes)


def _nothing(line: int, text: str) -> TaskGraph:
    return TaskGraph((), (), (Fault(line, text),))


def _line_of_bad_byte(raw: bytes) -> int:
    try:
        raw.decode("utf-8")
    except UnicodeDecodeError as err:
        return raw.count(b"\n", 0, err.start) + 1
    return raw.count(b"\n", 0, max(raw.find(b"\0"), 0)) + 1


def _tasks(blocks: Sequence[Block]) -> tuple[list[Task], list[Fault]]:
    tasks, faults = [], []
    for block in blocks:
        reader = TaskReader(block)
        tasks.append(reader.read())
        faults += reader.faults
    return tasks, faults


def _of_lines(lines: Sequence[str]) -> Iterator[Fault]:
    for number, line in enumerate(lines, 1):
        if len(line) > LONGEST_LINE:
            yield Fault(number, f"this line has more than {LONGEST_LINE:,} characters. Break it.")
        if not line.isprintable() and (hidden := UNPRINTABLE.search(line)):
            yield Fault(number, f"this line has a character that nobody sees ({quoted(hidden[0])}). Take it out.")


def _unclosed(line: int) -> list[Fault]:
    return [Fault(line, "what begins here is never closed: a fenced block or a comment. Close it.")] if line else []


def _notes(blocks: Sequence[Block]) -> Iterator[Fault]:
    """Each field that the format does not know, once."""
    seen: set[str] = set()
    for block in blocks:
        for each in block.fields:
            if each.name is None and each.spelled.lower() not in seen:
                seen.add(each.spelled.lower())
                yield Fault(each.line, f"the field {quoted(each.spelled)} is left alone: the format does not know it.")
