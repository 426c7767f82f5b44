"""Tests as they stand in a source, read without running anything."""

from collections.abc import Mapping
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
