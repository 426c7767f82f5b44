"""Boxes in Markdown, `- [ ] T012 words`: found, and ticked with every other byte left as it is.

Lines in fenced blocks and in comments are no boxes. Only `x` is done; any list marker makes one (OpenSpec #1861).
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from damascus.tasks.importers.record import Box, Ticked, line

MARKED = re.compile(
    r"(?P<indent>[ \t]{0,40})(?:[-*+]|\d{1,4}[.)])[ \t]{1,8}\[(?P<mark>[^\]\[])\](?P<star>\*?)[ \t]+(?P<rest>\S.*)"
)
HEADING = re.compile(r"(#{1,6})[ \t]+(\S.*)")
FENCE = re.compile(r"[ \t]{0,12}(```|~~~)")
BOM = "\ufeff"


@dataclass(frozen=True)
class BoxLine:
    """A line of a document: what stands there, below which heading, and its box if it has one."""

    number: int
    text: str
    heading: str = ""
    level: int = 0
    """Of the heading that this line is; 0 for any other."""
    box: re.Match[str] | None = None

    @property
    def done(self) -> bool:
        return self.box is not None and self.box["mark"] in "xX"

    @property
    def optional(self) -> bool:
        return self.box is not None and self.box["star"] == "*"

    @property
    def rest(self) -> str:
        return line(self.box["rest"]) if self.box else ""

    @property
    def indent(self) -> int:
        return len(self.box["indent"].expandtabs(4)) if self.box else 0


Naming = Callable[[BoxLine], Box | None]
"""What the format calls the box of a line; None where it is none of its boxes."""


def lines(text: str) -> Iterator[BoxLine]:
    """Every line; those in fences and comments have neither box nor heading."""
    fence, comment, heading = "", False, ""
    for number, each in enumerate(text.removeprefix(BOM).split("\n"), 1):
        told = each.rstrip("\r")
        hidden = comment or bool(fence)
        fence = _fence(told, fence) if not comment else fence
        comment = _comment(told, comment) if not fence else comment
        found = None if hidden or fence else HEADING.fullmatch(told)
        heading = line(found[2]) if found else heading
        box = None if hidden or fence or found else MARKED.fullmatch(told)
        yield BoxLine(number, told, heading, len(found[1]) if found else 0, box)


def _fence(told: str, fence: str) -> str:
    found = FENCE.match(told)
    if found is None:
        return fence
    return "" if found[1] == fence else fence or found[1]


def _comment(told: str, inside: bool) -> bool:
    opened, closed = told.rfind("<!--"), told.rfind("-->")
    if opened < 0 and closed < 0:
        return inside
    return opened > closed


def ticked(raw: bytes, boxes: Sequence[Box], naming: Naming) -> Ticked:
    """Each box that is there once with the words that were imported."""
    pieces = raw.split(b"\n")
    found: dict[Box, list[BoxLine]] = {}
    for each in lines(raw.decode("utf-8", errors="replace")):
        if each.box is not None and (box := naming(each)) is not None:
            found.setdefault(box, []).append(each)
    left = []
    for box in boxes:
        there = found.get(box, [])
        if len(there) != 1:
            left.append(f"{box.id or 'the box'} ({box.text}) is {'there twice' if there else 'not there any more'}")
        elif not there[0].done:
            _tick(pieces, there[0])
    return Ticked(b"\n".join(pieces), tuple(left))


def _tick(pieces: list[bytes], there: BoxLine) -> None:
    """The first bracket of a line with a box is the box's: before it stand blanks and the list's marker alone."""
    piece = pieces[there.number - 1]
    at = piece.index(b"[") + 1
    pieces[there.number - 1] = piece[:at] + b"x" + piece[piece.index(b"]", at) :]
