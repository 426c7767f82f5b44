"""The lines of a Markdown file, each with where it stands: in plain sight, in a fenced block, or where nobody reads."""

from collections.abc import Iterator, Sequence
from enum import Enum

Placed = tuple[int, str, "Seen"]
"""A line's number from 1, its text, and where it stands."""


class Seen(Enum):
    """How a line is seen by a reader: only what stands in plain sight can be a heading or a field."""

    TEXT = "text"
    FENCED = "fenced"
    HIDDEN = "hidden"
    """The marks of a fence, and comments."""


class PlacedLines:
    """Read once, line by line; `unclosed` is then the line of a fence or comment that reached to the end, or 0."""

    def __init__(self, lines: Sequence[str]) -> None:
        self._lines = lines
        self._fence = ""
        self._comment = False
        self.unclosed = 0

    def __iter__(self) -> Iterator[Placed]:
        for number, line in enumerate(self._lines, 1):
            text = line.strip()
            if self._comment:
                yield number, line, self._in_comment(text)
            elif self._fence:
                yield number, line, self._in_fence(text)
            elif text[:1] in ("`", "~", "<"):
                yield number, line, self._opened(text, number)
            else:
                yield number, line, Seen.TEXT

    def _in_comment(self, text: str) -> Seen:
        if "-->" in text:
            self._comment, self.unclosed = False, 0
        return Seen.HIDDEN

    def _in_fence(self, text: str) -> Seen:
        if len(text) < len(self._fence) or text != self._fence[0] * len(text):
            return Seen.FENCED
        self._fence, self.unclosed = "", 0
        return Seen.HIDDEN

    def _opened(self, text: str, number: int) -> Seen:
        self._comment = text.startswith("<!--") and "-->" not in text
        self._fence = _fence(text)
        self.unclosed = number if self._comment or self._fence else 0
        return Seen.HIDDEN if self.unclosed or text.startswith("<!--") else Seen.TEXT


def _fence(text: str) -> str:
    """The mark that opens a fenced block; "" if the line opens none."""
    mark = text[: len(text) - len(text.lstrip(text[0]))]
    if mark[0] == "<" or len(mark) < 3 or (mark[0] == "`" and "`" in text[len(mark) :]):
        return ""
    return mark
