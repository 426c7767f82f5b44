"""Tests as they stand in a source, read without running anything."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

READ_LIMIT = 1_000_000
"""Test sources beyond this are not read: they hold no test we know of, so whatever needs one fails closed."""

FILLED_IN = re.compile(r"%[sdifjoOpc#$]|\$\{[^}]{0,200}\}|\$[A-Za-z_#][\w.]{0,100}")
"""What a runner fills in for each row of a table, and JavaScript for each round of a loop."""


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
    asked: tuple[str, ...] | None = None
    """Without an assertion: the modules whose functions it calls. None: it asserts, or nothing is known of it."""
    negative: bool = False
    """Does it assert that something is refused or fails? By what stands in the source (docs/receipts.md)."""

    @property
    def counts(self) -> bool:
        """Can this test prove anything: it can fail, and nothing skips it or expects its failure."""
        return self.can_fail and self.skips == 0

    def is_reported_as(self, name: str) -> bool:
        """By its name, or by what its name becomes when it runs."""
        return name == self.name or (not self.certain and _fills(self.name, name))


def _fills(written: str, told: str) -> bool:
    """Part by part from the left, so that it takes no longer for a name that is made to take long."""
    first, *others = FILLED_IN.split(written)
    if not others or not told.startswith(first) or not told[len(first) :].endswith(others[-1]):
        return False
    at, end = len(first), len(told) - len(others[-1])
    for part in others[:-1]:
        found = told.find(part, at, end)
        if found < 0:
            return False
        at = found + len(part)
    return at <= end


@dataclass(frozen=True)
class WrittenFile:
    """All tests of one source. `skips` counts what skips or marks outside of any test: they reach every one."""

    tests: Mapping[str, WrittenTest] = field(default_factory=dict)
    skips: int = 0
    unread: bool = False
    """Too large, or it could not be read in time: whatever needs a test of it fails closed."""
