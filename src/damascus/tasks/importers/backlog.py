"""Backlog.md: one file per task in `backlog/tasks/`, those that are over in `backlog/completed/`.

Ids are compared without case, and by their number where the prefix differs (`task-24.1` is BACK-24.1). Criteria stand
between markers, in older files only below their heading. Ticking means the criteria's boxes and the status.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from damascus.domain.front_matter import split
from damascus.tasks.importers import boxes
from damascus.tasks.importers.boxes import BoxLine, lines
from damascus.tasks.importers.paths import paths_in
from damascus.tasks.importers.record import Box, Files, Imported, Ticked, line, prose, text_of, unique

CRITERIA = "acceptance criteria"
CRITERION = re.compile(r"#(\d{1,6})[ \t]+(\S.*)")
STATUS = re.compile(rb"^status[ \t]*:[ \t]*([^\n\r]*)", re.MULTILINE)
NUMBER = re.compile(r"\d+(?:\.\d+)*$")
MARKER = re.compile(r"<!--[^\n]{0,200}?-->")
PRIORITIES = {"high": 1, "medium": 2, "low": 3}
DONE = "Done"
STATUS_BOX = "status"
OVER = ("done", "completed", "complete", "closed")


def read(files: Files) -> list[Imported]:
    last = _last_status(files)
    tasks = {name: split(text_of(files, name), name)[0] for name in files if name.endswith(".md")}
    known = _Board({_id(name, front).lower(): name for name, front in tasks.items()})
    return unique([_task(name, text_of(files, name), front, (known, last)) for name, front in tasks.items()])


def _last_status(files: Files) -> str:
    """The board's last column means done."""
    config = next((name for name in files if name.endswith(("config.yml", "config.yaml"))), None)
    told = split(f"---\n{text_of(files, config)}\n---\n", config)[0].get("statuses") if config else None
    return line(told[-1], 60) if isinstance(told, list) and told else DONE


class _Board:
    """Every id of the board with its file, found however it is written."""

    def __init__(self, ids: Mapping[str, str]) -> None:
        self.files = ids
        self.numbers: dict[str, list[str]] = {}
        for ident in ids:
            self.numbers.setdefault(_number(ident), []).append(ident)

    def ref(self, told: object) -> str:
        ident = line(told, 80).lower()
        same = self.numbers.get(_number(ident), [])
        meant = ident if ident in self.files or len(same) != 1 else same[0]
        return f"{self.files.get(meant, '')}#{meant}"


def _id(name: str, front: Mapping[str, Any]) -> str:
    return line(front.get("id"), 80) or name.rpartition("/")[2].partition(" - ")[0]


def _number(ident: str) -> str:
    found = NUMBER.search(ident)
    return found[0] if found else ident


def _task(name: str, text: str, front: Mapping[str, Any], board: tuple[_Board, str]) -> Imported:
    known, last = board
    ident = _id(name, front)
    found = [box for each in lines(text) if (box := naming(each)) is not None]
    status = line(front.get("status"), 60).lower()
    body = MARKER.sub("", split(text, name)[1])
    parent = line(front.get("parent_task_id"), 80)
    return Imported(
        file=name,
        key=ident.lower(),
        name=ident,
        title=line(front.get("title"), 200) or ident,
        body=prose(f"Part of {parent}.\n\n{body}" if parent else body),
        criteria=tuple(box.text for box in found),
        scope=tuple(line(each, 300) for each in _list(front.get("modified_files"))) or tuple(paths_in(body[:20_000])),
        depends_on=tuple(dict.fromkeys(known.ref(each) for each in _list(front.get("dependencies")))),
        done="/completed/" in f"/{name}" or status in (*OVER, last.lower()),
        boxes=(*found, Box(STATUS_BOX, last)),
        priority=PRIORITIES.get(str(front.get("priority", "")).lower(), 2),
    )


def _list(told: Any) -> list[Any]:
    return [each for each in told if isinstance(each, str | int | float)] if isinstance(told, list) else []


def naming(each: BoxLine) -> Box | None:
    """The boxes of the definition of done are whoever reviews it's."""
    if each.box is None or each.heading.lower() != CRITERIA:
        return None
    found = CRITERION.fullmatch(each.rest)
    return Box(f"#{found[1]}", line(found[2])) if found else Box("", each.rest)


def ticked(raw: bytes, wanted: Sequence[Box]) -> Ticked:
    told = boxes.ticked(raw, [box for box in wanted if box.id != STATUS_BOX], naming)
    status = next((box for box in wanted if box.id == STATUS_BOX), None)
    return Ticked(_with_status(told.raw, status.text), told.left) if status else told


def _with_status(raw: bytes, word: str) -> bytes:
    """In the front matter alone."""
    start = raw.find(b"---")
    end = raw.find(b"\n---", start + 3)
    front = raw[start:end] if 0 <= start < end else b""
    found = STATUS.search(front)
    told = found[1].rstrip() if found else b""
    if found is None or told.strip(b"\"' ").decode("utf-8", errors="replace").lower() == word.lower():
        return raw
    at = start + found.start(1)
    return raw[:at] + word.encode() + raw[at + len(told) :]
