"""Where code refers to a test runner."""

from dataclasses import dataclass


@dataclass(frozen=True, order=True)
class Reference:
    line: int
    what: str
