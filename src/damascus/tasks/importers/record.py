"""What every format is read into: one record for each story that a source describes. Pure, as all of this folder."""

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from damascus.domain.errors import UsageError
from damascus.domain.file_text import decode
from damascus.domain.inert_markdown import seen
from damascus.domain.visible import UNSEEN

CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")
LONGEST_LINE = 2_000
LONGEST_BODY = 40_000
"""A refiner hands back a spec of at most 100,000 characters, with these words in it."""
MARK = 16
MOST = 5_000
"""Stories of one import."""


@dataclass(frozen=True)
class Box:
    """What is ticked in the source once the story is on main: its id there, and its words as they were imported."""

    id: str
    text: str


@dataclass(frozen=True)
class Imported:
    """One story of a source. `key` is unique in its file; `depends_on` are refs of others."""

    file: str
    key: str
    name: str
    """What its story id is made of."""
    title: str
    body: str = ""
    criteria: tuple[str, ...] = ()
    scope: tuple[str, ...] = ()
    depends_on: tuple[str, ...] = ()
    done: bool = False
    skipped: str = ""
    """Why it is not queued though it is not done."""
    test_command: str = ""
    plan: str = ""
    """How it is to be tested, in the source's words."""
    questions: tuple[str, ...] = ()
    lacks: tuple[str, ...] = ()
    """What the source leaves open besides scope, requirements and Test Command."""
    boxes: tuple[Box, ...] = ()
    priority: int = 2
    spec: bytes | None = field(default=None, repr=False)
    """The whole spec where the source has one."""

    @property
    def ref(self) -> str:
        return f"{self.file}#{self.key}"

    @property
    def mark(self) -> str:
        """A sum of what the source says of it; whether it is done is no part of that."""
        if self.spec is not None:
            return hashlib.sha256(self.spec).hexdigest()[:MARK]
        parts = (self.title, self.body, self.criteria, self.scope, self.depends_on, self.test_command, self.plan)
        told = repr((*parts, self.questions, self.lacks, self.boxes, self.priority))
        return hashlib.sha256(told.encode("utf-8", errors="replace")).hexdigest()[:MARK]


@dataclass(frozen=True)
class Ticked:
    """The file's bytes with the boxes ticked, and why some were not."""

    raw: bytes
    left: tuple[str, ...] = ()


Files = Mapping[str, bytes]
"""The files of a source by their paths, as they are told to people."""


def text_of(files: Files, name: str) -> str:
    """Of a file that may not be there."""
    return decode(files[name], name) if name in files else ""


def line(text: object, most: int = LONGEST_LINE) -> str:
    """One line of somebody else's words: without what nobody sees, and without end."""
    told = seen(str(text)[: 2 * most]) if text is not None else ""
    return told if len(told) <= most else told[: most - 1] + "…"


def prose(text: object, most: int = LONGEST_BODY) -> str:
    """Several lines of them."""
    told = UNSEEN.sub("", CONTROL.sub("", str(text or "")[: 2 * most].replace("\r\n", "\n"))).strip()
    return told if len(told) <= most else told[: most - 1].rstrip() + "…"


def number(ident: str) -> int:
    """REQ-7's 7; 0 where there is none."""
    digits = re.search(r"\d{1,9}", ident)
    return int(digits[0]) if digits else 0


def unique(found: Sequence[Imported]) -> list[Imported]:
    """Refuses two of one key, and more than any person would import at once."""
    if len(found) > MOST:
        raise UsageError(f"{found[0].file} has more than {MOST:,} tasks. Import a part of it. Nothing was imported.")
    known: dict[str, Imported] = {}
    for one in found:
        if one.ref.lower() in known:
            raise UsageError(
                f"{one.file} has {one.key or 'a task'} twice. Give each task its own id. Nothing was imported."
            )
        known[one.ref.lower()] = one
    return list(found)
