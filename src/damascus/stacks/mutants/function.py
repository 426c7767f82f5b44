"""A function as mutation sees it: where it stands, what it gives back, and the edits that take its body away.

An edit is put in front of the body, which stays, behind a condition that only running works out: imports stay used, a
generator stays a generator, and a test that looks for words in the source or for instructions in the code still finds
them, so that it notices nothing.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Literal

from damascus.stacks.mutants.python_text import decoded

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
    half: bool = False
    """See values.Answer."""

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
    by_name: bool = False
    """No `def` of this file: a name that tests call. Only where its blow-up is noticed is it known to be a function."""

    @property
    def where(self) -> str:
        return f"{self.path}:{self.line} {self.name}"

    @property
    def strict(self) -> bool:
        """Must a test notice what it gives back?"""
        return not self.soft and self.gives != "void"


def noticed(function: Function, killed: Collection[str]) -> bool:
    """Are these operators, of mutants that answer something, enough to say that a test looks at the answer?"""
    halves = {one.operator for one in function.mutants if one.half}
    return bool(set(killed) - halves) or (bool(halves) and halves <= set(killed))


def edited(source: bytes, edits: Iterable[Edit], path: str = "") -> bytes:
    """The source with all edits made; they must not overlap. Python's count in UTF-8, whatever the file is in."""
    if path.endswith(".py"):
        text, encoding = decoded(source)
        return edited(text.encode(), edits).decode().encode(encoding)
    for edit in sorted(edits, key=lambda one: one.start, reverse=True):
        source = source[: edit.start] + edit.text.encode() + source[edit.end :]
    return source
