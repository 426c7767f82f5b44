"""One way out, as data: what is tried inside, how success is seen from outside, and which level stops it."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from tests.escape.arena import Arena

NEVER = None
"""Landlock does not stop it in any version."""
AS_AGENTS = -1
Use = Literal["agent", "test"]
"""Whose cage it is: an agent's, with its way to the model gateway, or that of a command that is judged."""


@dataclass(frozen=True)
class Attempt:
    """`does` is the line of docs/sandbox.md. `landlock`: the version of the kernel's interface that stops it; 1: every
    one, where need be by the filter of system calls. `of_a_test`: the same for a judged command, where that differs.

    `control`: who shows, without a cage, that the attempt is a real one; "nobody" where that would touch the machine;
    "attributes", "processors" where the file system has some and the machine more than one.
    """

    does: str
    text: str
    escaped: Callable[[Arena], bool]
    language: Literal["sh", "python"] = "sh"
    landlock: int | None = 1
    of_a_test: int | None = AS_AGENTS
    control: Literal["anybody", "root", "attributes", "processors", "nobody"] = "anybody"
    spares_root: bool = False
    """Root's processes outside have privileges that the cage has not: the kernel lets nobody below touch them."""
    own_uid: bool = False
    """It can be seen only by the very user."""

    def stopped_since(self, use: Use) -> int | None:
        return self.landlock if use == "agent" or self.of_a_test == AS_AGENTS else self.of_a_test

    @property
    def slug(self) -> str:
        return re.sub(r"[^a-z0-9]+", "-", self.does.lower()).strip("-")

    def argv(self, python: str) -> list[str]:
        return [python, "-I", "-c", self.text] if self.language == "python" else ["/bin/sh", "-c", self.text]
