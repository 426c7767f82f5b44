"""Where code refers to a test runner."""

from dataclasses import dataclass

OUR_PLACE = r"(?:^|file://)/mnt(?:/|/checkout.*|/home.*)?$"
"""Where every judged command sees its checkout and HOME (system/seats.py), alone in a text."""


@dataclass(frozen=True, order=True)
class Reference:
    line: int
    what: str
