"""Pictures of pages that a person accepted, or is shown: kept where no agent can write, for every host alike."""

from dataclasses import dataclass
from datetime import datetime
from typing import Protocol


@dataclass(frozen=True)
class AcceptedPicture:
    """By whose word, when, and in which story."""

    png: bytes
    story: str
    by: str
    at: datetime
    browser: str


@dataclass(frozen=True)
class ShownPicture:
    """One that a person is asked about. `mark` is what an answer names it by."""

    page: str
    viewport: str
    mark: str
    png: bytes
    browser: str


class Pictures(Protocol):
    """Of one repository."""

    def accepted(self, story: str, page: str, viewport: str) -> list[AcceptedPicture]:
        """How the page may look in this story: as it does on main, as a person accepted it in this very story, or in
        one that is on its way and may be below this one. Main's comes first."""

    def show(self, story: str, picture: ShownPicture) -> None:
        """Kept until a person has answered; the story's last one of that page."""
