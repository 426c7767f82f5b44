"""One way out, as data: what is tried inside, how success is seen from outside, and which level stops it."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from tests.escape.arena import Arena

NEVER = None
"""Landlock does not stop it in any version."""


@dataclass(frozen=True)
class Attempt:
    """`does` is the line of docs/sandbox.md. `landlock`: the version of the kernel's interface that stops it.

    `control`: who shows, without a cage, that the attempt is a real one; "nobody" where that would touch the machine.
    """

    does: str
    text: str
    escaped: Callable[[Arena], bool]
    language: Literal["sh", "python"] = "sh"
    landlock: int | None = 1
    control: Literal["anybody", "root", "nobody"] = "anybody"
    own_uid: bool = False
    """It can be seen only by the very user."""

    @property
    def slug(self) -> str:
        return re.sub(r"[^a-z0-9]+", "-", self.does.lower()).strip("-")

    def argv(self, python: str) -> list[str]:
        return [python, "-I", "-c", self.text] if self.language == "python" else ["/bin/sh", "-c", self.text]
