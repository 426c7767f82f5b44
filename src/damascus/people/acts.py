"""Who acts, and what an act comes to."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

TERMINAL = "terminal"


@dataclass(frozen=True)
class Actor:
    """Who acts, and by what: the caller knows, an act never finds it out."""

    name: str
    by: str = TERMINAL


Committing = Callable[[Path, list[str], str], str]
"""Commits paths of a folder with a message, by the person's own git: why it refused, or "". The caller's, since git may
ask at a terminal."""


@dataclass(frozen=True)
class Done:
    """What was done, in words, and what to do next. The facts are in the records that are made of this one."""

    said: str
    following: str


def goes_on(story: str = "") -> str:
    """What to do next once a story, or many, may go on."""
    return f"damascus run, or if one runs: damascus {f'why {story}' if story else 'status'}"
