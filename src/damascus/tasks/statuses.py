"""Statuses and checkpoints written into a task graph, and read from it: no other byte changes.

A task without a Status line gets one right below its heading, one without a Checkpoint line right below its status.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from damascus.domain.verdict import TaskStatus
from damascus.tasks.blocks import Block, read_blocks
from damascus.tasks.fields import FieldAt, TaskField
from damascus.tasks.values import word_of

BOM = "\ufeff"
FIRST_MARKS = re.compile(r"[ \t]{0,4}[:*_]{1,5}(?:[ \t]{0,4}:)?")
COMMIT = re.compile(
    r"[`*(<]{0,3}[0-9a-f]{7,64}\b[`*)>]{0,3}"
    r"(?:[ \t]{1,4}[`*(<]{0,3}\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d)?(?:Z|[+-]\d\d:?\d\d)?)?[`*)>]{0,3})?"
)
NO_VALUE = re.compile(r"<[^<>]{0,40}>(?:[ \t]{0,4}<[^<>]{0,40}>){0,3}|none|pending|tbd|n/a|[-–—.…]{1,3}", re.IGNORECASE)
"""What stands for a checkpoint that is not there yet."""


@dataclass(frozen=True)
class Written:
    """What a task's lines shall say. `checkpoint`: `<sha> <time>`, or "" for none."""

    status: TaskStatus
    checkpoint: str = ""


def statuses_in(raw: bytes) -> dict[str, str]:
    """By id, the word as it is written; "" where none is. Of two tasks with one id, the first."""
    found: dict[str, str] = {}
    for block in read_blocks(_lines(raw)).tasks:
        status = block.first(TaskField.STATUS)
        found.setdefault(block.id, word_of(status.value) if status else "")
    return found


def with_statuses(raw: bytes, statuses: Mapping[str, Written]) -> bytes:
    """The same file with these values on Status and Checkpoint lines."""
    lines = _lines(raw)
    for block in reversed(read_blocks(lines).tasks):  # from the end: what is put in moves only what was done already
        if block.id in statuses:
            _write(lines, block, statuses[block.id])
    mark = BOM if raw.startswith(BOM.encode()) else ""
    return (mark + "\n".join(lines)).encode("utf-8", "surrogateescape")


def _lines(raw: bytes) -> list[str]:
    return raw.decode("utf-8", "surrogateescape").removeprefix(BOM).split("\n")


def _write(lines: list[str], block: Block, written: Written) -> None:
    status, checkpoint = block.first(TaskField.STATUS), block.first(TaskField.CHECKPOINT)
    told = " ".join(written.checkpoint.split())
    if checkpoint is not None:
        _replace_checkpoint(lines, checkpoint, told)
    if status is not None:
        _replace(lines, status, word_of(status.value), written.status)
    else:
        _insert(lines, block.line, f"**{TaskField.STATUS}:** {written.status}")
    if told and checkpoint is None:
        at = status.line if status else block.line + 1
        _insert(lines, at, _like(lines[at - 1], told))


def _replace_checkpoint(lines: list[str], at: FieldAt, told: str) -> None:
    """A commit that is none any more goes; other words that stand there, also behind it, are the person's."""
    ours = COMMIT.match(at.value) or (NO_VALUE.fullmatch(at.value) if told else None)
    if not told and ours is None:
        return
    old = ours[0] if ours else ""
    words = at.value[len(old) :]
    if not old and words:
        _replace(lines, at, words, f"{told} {words}")
    elif not told and words.startswith(" "):
        _replace(lines, at, f"{old} ", "")
    else:
        _replace(lines, at, old, told)


def _replace(lines: list[str], at: FieldAt, old: str, new: str) -> None:
    line = lines[at.line - 1]
    if not old:
        lines[at.line - 1] = f"{line[: at.begins]} {new}{line[at.begins :]}"
        return
    begin = line.index(old, at.begins)
    lines[at.line - 1] = line[:begin] + new + line[begin + len(old) :]


def _insert(lines: list[str], below: int, text: str) -> None:
    """As a line below that one, with its ending; at the end of the file, with that of the line before."""
    ending = "\r" if lines[below - 1].endswith("\r") else ""
    if below == len(lines):
        lines[below - 1] += "\r" if below > 1 and lines[below - 2].endswith("\r") and not ending else ""
        ending = ""
    lines.insert(below, text + ending)


def _like(status: str, checkpoint: str) -> str:
    """A Checkpoint line with the marks of the Status line: in a list it is an item too."""
    name = re.search("status", status, re.IGNORECASE)
    marks = FIRST_MARKS.match(status, name.end()) if name else None
    before = status[: name.start()] if name else "**"
    return f"{before}{TaskField.CHECKPOINT}{marks[0] if marks else ':**'} {checkpoint}"
