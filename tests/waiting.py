"""Wait for a fact, never for a while."""

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")
LONG = 60.0
"""Seconds: more than what ends at once takes on a busy machine, far less than what it would else wait for (300)."""


def eventually(predicate: Callable[[], T], timeout: float = 10.0, what: str = "the condition") -> T:
    """The first true answer of `predicate`; fails by name once `timeout` seconds are over."""
    deadline = time.monotonic() + timeout
    while not (answer := predicate()):
        if time.monotonic() > deadline:
            raise AssertionError(f"waited {timeout:g} s in vain for {what}")
        time.sleep(0.02)
    return answer
