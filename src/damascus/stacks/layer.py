"""What a stack must know so that a failing test of ours can be laid into its files."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Protocol

from damascus.stacks.made_up import MadeUp


@dataclass(frozen=True)
class Laid:
    """A file's new text, and the names under which the runner must report what fails in it."""

    text: str
    names: tuple[str, ...]


@dataclass(frozen=True)
class Style:
    """How the project writes what its runner takes for a test. `functions`, `classes`: which of the two it runs."""

    prefix: str = "test"
    functions: bool = True
    classes: bool = False
    only_one: bool = False
    """Where the runner ends at the first failure, a second test of ours would never be reached."""


class Layer(Protocol):
    """One stack's way of writing and changing tests, by text alone."""

    @property
    def endings(self) -> tuple[str, ...]:
        """Endings of test files, the longest first: what must stay at a name's end."""
        ...

    def append(self, source: str, made: MadeUp, style: Style) -> Laid | None: ...
    def alone(self, like: str, made: MadeUp, style: Style) -> Laid | None: ...
    def first_lines(self, source: str, tests: Collection[str], made: MadeUp) -> Laid | None: ...
    def expecting(self, source: str, tests: Collection[str], made: MadeUp) -> Laid | None:
        """These tests of the file with another value in the place of one that they expect; `names` are those that
        could be changed."""
        ...
