"""A person's word for one change: what makes two changes the same, and what a person is asked.

An approval is for what the story changes, not for a commit: main may move beneath it as long as the change reads the
same. Where a hunk sits in its file is no part of that; every character of it, its surroundings and the spec are.
"""

import hashlib
import re
from dataclasses import dataclass

from pydantic import BaseModel, Field

HUNK = re.compile(rb"^@@ -\d+(?:,\d+)? \+\d+(?:,\d+)? @@.*$", re.MULTILINE)
INDEX = re.compile(rb"^index [0-9a-f]+\.\.[0-9a-f]+", re.MULTILINE)
"""Lines of a diff's head: in a hunk every line begins with a blank, a sign or a backslash."""
SHOWN = 12


class AskedApproval(BaseModel):
    """What a person is asked to approve: the change by its mark, and the commit in which it stands."""

    change: str
    commit: str
    unproved: list[str] = Field(default_factory=list)
    """What no evidence shows, where that is why a person is asked."""
    of: str = ""
    """The change itself, where the mark is of what somebody holds against it."""


class Approval(BaseModel):
    """Who approved a change, where and when (store/people.py writes it, the receipt tells it)."""

    change: str
    commit: str
    by: str
    where: str
    at: str = ""
    words: str = ""
    unproved: list[str] = Field(default_factory=list)
    """What the person's word stands for: it is never called verified by that."""


@dataclass(frozen=True)
class Word:
    """What a person said, and where: `review` is its number on the forge."""

    by: str
    where: str
    words: str = ""
    review: str = ""

    def told(self) -> dict[str, object]:
        return {name: value for name, value in vars(self).items() if value}


def change_of(patch: bytes, spec_hash: str) -> str:
    """The mark of a change: the same wherever it sits on main, another one for another spec."""
    read = INDEX.sub(b"index", HUNK.sub(b"@@", patch))
    return hashlib.sha256(spec_hash.encode() + b"\n" + read).hexdigest()


def shown(change: str) -> str:
    return change[:SHOWN]
