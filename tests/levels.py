"""The ways of confining that work on this machine: what is proved of one is proved of each."""

from collections.abc import Iterator
from contextlib import contextmanager
from unittest.mock import patch

import pytest

from damascus.system import sandbox
from damascus.system.sandbox import FoundSandbox, Level, refused_by_landlock, working_form

MISSING = {
    Level.BUBBLEWRAP: "bubblewrap is missing: apt-get install bubblewrap, or allow user namespaces",
    Level.LANDLOCK: "Landlock is missing: a kernel of 5.13 or newer, booted with lsm=landlock,…",
}


def need(level: Level) -> Level:
    """The level, or a skip that says what is missing."""
    works = {
        Level.BUBBLEWRAP: lambda: working_form()[0] is not None,
        Level.LANDLOCK: lambda: not refused_by_landlock(),
        Level.UNCONFINED: lambda: True,
    }
    if not works[level]():
        pytest.skip(MISSING[level])
    return level


@contextmanager
def as_if_here(level: Level) -> Iterator[None]:
    """A machine on which this level is the best that works."""
    with patch.object(sandbox, "found", lambda: FoundSandbox(level, refusals=("for a test",))):
        yield
