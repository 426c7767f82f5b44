"""A function as mutation sees it: where it stands, what it gives back, and the edits that take its body away.

An edit is put in front of the body, which stays: line numbers hold, imports stay used, a generator stays a generator,
and a test that looks for words in the source still finds them, so that it notices nothing.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

Gives = Literal["value", "void", "generator"]


@dataclass(frozen=True)
class Edit:
    """`text` instead of source[start:end], in bytes."""

    start: int
    end: int
    text: str


@dataclass(frozen=True)
class Mutant:
    """One way to take a function's body away. `operator` is told to people: `raise`, `return 0`, `empty`."""

    operator: str
    edit: Edit

    @property
    def answers(self) -> bool:
        """Does it answer something, rather than blow up? A test without an assertion notices a blow-up too."""
        return not self.operator.startswith(("raise", "panic", "throw"))


@dataclass(frozen=True)
class Function:
    """`body` tells whether it changed. `soft`: its survivors are told and refuse nobody (skip list)."""

    path: str
    name: str
    line: int
    last_line: int
    first_line: int
    """Where its code begins, decorators with it: a probe knows it by that."""
    gives: Gives
    soft: bool
    body: str
    mutants: tuple[Mutant, ...]
    control: Edit
    blow_up: Mutant | None = None
    """A second way to blow up, for tests that expect errors of the first one's kind."""

    @property
    def where(self) -> str:
        return f"{self.path}:{self.line} {self.name}"

    @property
    def strict(self) -> bool:
        """Must a test notice what it gives back?"""
        return not self.soft and self.gives != "void"


def edited(source: bytes, edits: Iterable[Edit]) -> bytes:
    """The source with all edits made; they must not overlap."""
    for edit in sorted(edits, key=lambda one: one.start, reverse=True):
        source = source[: edit.start] + edit.text.encode() + source[edit.end :]
    return source
