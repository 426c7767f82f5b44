"""A function as mutation sees it: where it stands, what it gives back, and the edits that take its body away.

An edit is put in front of the body, which stays, behind a condition that only running works out: imports stay used, a
generator stays a generator, and a test that looks for words in the source or for instructions in the code still finds
them, so that it notices nothing.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from damascus.stacks.mutants.values import Values

AT_ONCE = ", its work undone"
"""Ends the operator of a mutant that answers before the body: whoever asks only whether it ran notices it too."""
RESHAPED = "return other values in the same shape"
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
    reshaped: Mutant | None = None
    """Its own answer with other values in it: tried where tests only broke over answers of another shape."""
    also_control: tuple[Edit, ...] = ()
    """More words that mutants have, changing nothing: insertions that add no line."""
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
    late = {one for one in halves if not one.endswith(AT_ONCE)}
    return bool(set(killed) - halves) or any(some and some <= set(killed) for some in (late, halves - late))


def only_ran(function: Function, killed: Collection[str]) -> bool:
    """Do these say that it ran, and nothing that a test looks at what it answered?"""
    return noticed(function, killed) and not noticed(function, [one for one in killed if not one.endswith(AT_ONCE)])


@dataclass(frozen=True)
class OutsidePart:
    """One statement, or the head of a class. `text` is what it says, wherever it stands; no edits: none is known."""

    text: str
    name: str
    edits: tuple[Edit, ...] = ()
    line: int = 0
    hides: bool = False
    """It makes code of data when it runs, or of a macro: functions that no source shows."""


def edited_bytes(source: bytes, edits: Iterable[Edit]) -> bytes:
    """The source with all edits made; they must not overlap."""
    for edit in sorted(edits, key=lambda one: one.start, reverse=True):
        source = source[: edit.start] + edit.text.encode() + source[edit.end :]
    return source


@dataclass(frozen=True)
class Mutants:
    """What one stack makes mutants with, from a source and its path. All raise ValueError for what can't be read."""

    functions: Callable[[bytes, str, Values, Mapping[int, Collection[str]]], list[Function]]
    """The last: the types that each line was seen to give back, where that is known."""
    outside: Callable[[bytes, str, Values], list[OutsidePart]]
    edited: Callable[[bytes, Iterable[Edit]], bytes] = edited_bytes
