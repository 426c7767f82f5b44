"""Boxes of imported stories are ticked in their source, once the story is on main and never before (X15).

Only in a file of this repository, in the person's own folder, in place and as a whole. What a person changed there
since is theirs: a box that is gone, or says something else now, is left and told.
"""

import os
import stat
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from damascus.domain.spec import Spec
from damascus.engine.tools import Tools
from damascus.store.imports import LandedImport, landed_since, note_ticked
from damascus.system.replacing import replace_file
from damascus.tasks.importers import IMPORTERS
from damascus.tasks.importers.story_specs import ImportSource, boxes_of

EVERY = 2.0
LARGEST = 8_000_000
OVERLAP = timedelta(minutes=5)
"""Looked at again: transactions that ended later than others that began after them."""


@dataclass(frozen=True)
class TickedBoxes:
    """What a story's boxes came to: the file, those that are ticked now, and why others are not."""

    file: str
    boxes: tuple[str, ...] = ()
    left: tuple[str, ...] = ()
    later: bool = False
    """The file can't be written now; it is tried again."""


class Ticking:
    """Of one repository. Each look begins where the last one ended; what could not be written then is tried again."""

    def __init__(self, tools: Tools) -> None:
        self._tools = tools
        self._since = datetime.min.replace(tzinfo=UTC)
        self._waiting: dict[int, LandedImport] = {}

    def look(self) -> list[TickedBoxes]:
        tools = self._tools
        if tools.top is None:
            return []
        now, landed = landed_since(tools.db, tools.project.repo_id, self._since)
        self._waiting |= {one.item: one for one in landed}
        self._since = now - OVERLAP
        return [told for one in list(self._waiting.values()) if (told := self._tick(tools.top, one)) is not None]

    def _tick(self, top: Path, one: LandedImport) -> TickedBoxes | None:
        tools = self._tools
        if not tools.forge.landed(one.commit):
            return None
        told = tick(top, one.spec)
        if told.later:
            return None
        facts: dict[str, object] = {"file": told.file, "boxes": list(told.boxes), "left": list(told.left)}
        note_ticked(tools.db, tools.project.id, one.item, facts)
        del self._waiting[one.item]
        return told


def tick(top: Path, spec: Spec) -> TickedBoxes:
    """Idempotent: what is ticked stays as it is, to the byte."""
    source, boxes = ImportSource.of(spec), boxes_of(spec)
    importer = IMPORTERS.get(source.format) if source else None
    if source is None or importer is None or not boxes:
        return TickedBoxes(source.file if source else "")
    if not importer.writes:
        return TickedBoxes(source.file, left=importer.ticked(b"", boxes).left)
    path = _inside(top, source.file)
    if path is None:
        return TickedBoxes(source.file, left=("the file is outside of the repository, so nothing is ticked there",))
    raw = _read(path)
    if raw is None:
        return TickedBoxes(source.file, later=True)
    told = importer.ticked(raw, boxes)
    if told.raw != raw and not _write(path, raw, told.raw):
        return TickedBoxes(source.file, later=True)
    return TickedBoxes(source.file, tuple(box.id or box.text for box in boxes), told.left)


def _inside(top: Path, name: str) -> Path | None:
    """Below the folder, by no link and no way up."""
    path = top / name
    whole = path.parent.resolve() / path.name
    return path if not Path(name).is_absolute() and whole == top.resolve() / name else None


def _read(path: Path) -> bytes | None:
    try:
        known = path.lstat()
        if not stat.S_ISREG(known.st_mode) or known.st_size > LARGEST:
            return None
        return path.read_bytes()
    except OSError:
        return None


def _write(path: Path, was: bytes, now: bytes) -> bool:
    """In its place, with its mode; not over what somebody wrote meanwhile."""
    try:
        mode = stat.S_IMODE(path.lstat().st_mode)
        if not os.access(path, os.W_OK) or path.read_bytes() != was:
            return False
        replace_file(path, now, mode=mode)
    except OSError:
        return False
    return True
