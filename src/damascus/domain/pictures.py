"""What is told of the picture of a page: the same as an accepted one, changed, or new.

A picture is known by its mark, made of the page, the window's size and every byte of it: a person's word holds for
exactly that one, and from then on for whatever looks the same.
"""

import hashlib
from collections.abc import Iterable
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from damascus.domain.question_marks import PICTURES

SHOWN = 20
"""At most as many in one question; the next ones come after them."""


class Picture(BaseModel):
    """One page of a candidate."""

    model_config = ConfigDict(extra="forbid")

    page: str
    viewport: str
    mark: str
    sha256: str
    browser: str = ""
    state: Literal["same", "changed", "new"]
    differing: int = 0
    """Pixels that are not as in the accepted picture."""
    pixels: int = 0
    accepted: str = ""
    """Whose word the picture that it was compared with rests on."""
    files: dict[str, str] = Field(default_factory=dict)
    """Where a person can look at it: `accepted`, `candidate`, `difference`."""

    @property
    def told(self) -> str:
        where = f"{self.page} at {self.viewport}"
        if self.state == "new":
            return f"{where} has no accepted picture yet"
        return f"{where}: {self.differing:,} of {self.pixels:,} pixels differ from what {self.accepted}"

    @property
    def asks(self) -> bool:
        return self.state != "same"


def mark_of(page: str, viewport: str, png: bytes) -> str:
    return hashlib.sha256("\0".join([page, viewport, hashlib.sha256(png).hexdigest()]).encode()).hexdigest()[:16]


def question_start(pictures: Iterable[Picture]) -> str:
    """How a question about them begins. Whatever follows means nothing."""
    return f"{PICTURES} {' '.join(one.mark for one in pictures)}: "
