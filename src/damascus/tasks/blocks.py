"""A task graph's parts by their lines: each task with its fields, and the lines of the Parallelism Map.

The reader (graph.py) and the writer of statuses (statuses.py) both see a file through this, so that they never differ
about which line is a task's status.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from damascus.tasks.fields import LISTS, FieldAt, TaskField, field_on, goes_on, named
from damascus.tasks.lines import PlacedLines, Seen

TASK = re.compile(r"[*`\[]{0,3}(?:TASK-|(?i:task)[-_ ]?#?\d)")
NOT_A_TASK = "TASK-GRAPH"
"""The title of the file itself."""
RULES = frozenset({"---", "***", "___"})
MAP = "parallelism map"


@dataclass(slots=True)
class Block:
    """One task: its heading, and its fields in their order."""

    line: int
    level: int
    id: str
    title: str
    fields: list[FieldAt] = field(default_factory=list)

    def first(self, name: TaskField) -> FieldAt | None:
        return next((each for each in self.fields if each.name is name), None)


@dataclass(slots=True)
class Blocks:
    """`unclosed`: the line of a fence or comment that is never closed, or 0."""

    tasks: list[Block] = field(default_factory=list)
    map: list[tuple[int, str]] = field(default_factory=list)
    unclosed: int = 0


def read_blocks(lines: Sequence[str]) -> Blocks:
    reader, placed = _BlockReader(), PlacedLines(lines)
    for number, line, place in placed:
        if place is not Seen.HIDDEN:
            reader.take(number, line, place)
    reader.found.unclosed = placed.unclosed
    return reader.found


class _BlockReader:
    def __init__(self) -> None:
        self.found = Blocks()
        self._task: Block | None = None
        self._field: FieldAt | None = None
        self._map = 0
        """The level of the map's heading while inside of it, else 0."""

    def take(self, number: int, line: str, place: Seen) -> None:
        if place is Seen.TEXT and self._begins(number, line):
            return
        if self._map:
            self.found.map.append((number, line))
        elif self._field is not None:
            self._field.below.append((number, line, place))

    def _begins(self, number: int, line: str) -> bool:
        """A heading, a field, or a rule, which ends one. Cheap looks first: most lines are none."""
        if "#" in line[:4] and (head := heading(line)):
            self._heading(number, *head)
            return True
        if self._task is None:
            return False
        if ":" in line and (begun := field_on(line, number)) and not goes_on(self._field, begun):
            self._begin(self._task, begun)
            return True
        if line[:3] in RULES and _is_rule(line):
            self._field = None
            return True
        return False

    def _heading(self, number: int, level: int, words: str) -> None:
        if _is_task(level, words):
            self._task, self._field, self._map = Block(number, level, *_id_and_title(words)), None, 0
            self.found.tasks.append(self._task)
        elif " ".join(words.lower().split()) == MAP:
            self._task, self._field, self._map = None, None, level
        elif self._map and level > self._map:
            self.found.map.append((number, words))
        elif self._task is not None and level > self._task.level:
            self._begin(self._task, _field_of_heading(number, words))
        else:
            self._task, self._field, self._map = None, None, 0

    def _begin(self, task: Block, begun: FieldAt) -> None:
        task.fields.append(begun)
        self._field = begun


def _field_of_heading(number: int, words: str) -> FieldAt:
    """Only what goes on below its line can be one: a status below a heading of its own would not be found again."""
    name = named(words.rstrip(": "))
    return FieldAt(name if name in LISTS else None, words, number, "", 0, -1)


def heading(line: str) -> tuple[int, str] | None:
    """The level and the words of a Markdown heading."""
    text = line.strip()
    if not text.startswith("#") or "#" not in line[:4]:
        return None
    words = text.lstrip("#")
    level = len(text) - len(words)
    if level > 6 or not words[:1].isspace():
        return None
    return level, _without_closing(words.strip())


def _without_closing(words: str) -> str:
    """`## Title ##` is `Title`."""
    bare = words.rstrip("#")
    return bare.rstrip() if bare != words and (not bare or bare[-1].isspace()) else words


def _is_task(level: int, words: str) -> bool:
    if not TASK.match(words) or words.upper().startswith(NOT_A_TASK):
        return False
    return level > 1 or any(each.isdigit() for each in words.split(maxsplit=1)[0])


def _id_and_title(words: str) -> tuple[str, str]:
    """`TASK-001: title`; a dash or a blank instead of the colon is taken too."""
    first, _, rest = words.partition(" ")
    if ":" in first:
        first, _, rest = words.partition(":")
    return first.strip("*`[] \t"), rest.strip().lstrip("-–—:*").strip()


def _is_rule(line: str) -> bool:
    text = line.rstrip()
    return text == text[0] * len(text)
