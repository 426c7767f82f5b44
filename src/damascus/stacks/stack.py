"""What a language's test culture looks like from outside: which paths are tests, what judges them, what they hold."""

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field

READ_LIMIT = 1_000_000
"""Test sources beyond this are not read: they hold no test we know of, so whatever needs one fails closed."""


@dataclass(frozen=True)
class WrittenTest:
    """One test as it stands in the source: what it names, and what it could fail by."""

    name: str
    text: str
    skips: int
    asserts: int
    can_fail: bool
    body: str
    certain: bool = True
    """Does the source alone say that a runner reports a test of this name? Not of one made in a loop or a condition."""

    @property
    def counts(self) -> bool:
        """Can this test prove anything: it can fail, and nothing skips it or expects its failure."""
        return self.can_fail and self.skips == 0


@dataclass(frozen=True)
class WrittenFile:
    """All tests of one source. `skips` counts what skips or marks outside of any test: they reach every one."""

    tests: Mapping[str, WrittenTest] = field(default_factory=dict)
    skips: int = 0
    unread: bool = False
    """Too large, or it could not be read in time: whatever needs a test of it fails closed."""


@dataclass(frozen=True)
class Stack:
    """One language: a sibling in this folder and a line in the registry."""

    name: str
    roots: tuple[str, ...]
    extensions: tuple[str, ...]
    tests: re.Pattern[str]
    judges: re.Pattern[str]
    command: Callable[[Collection[str]], str]
    read: Callable[[str], WrittenFile]
    written: Callable[[str], str] = str
    """The name in the source of a test as its runner reports it: without parameters, subtests, modules."""


def paths(*patterns: str) -> re.Pattern[str]:
    """One pattern out of several, each matched against a whole path, in any folder."""
    return re.compile(r"(?:.*/)?(?:" + "|".join(patterns) + ")")
