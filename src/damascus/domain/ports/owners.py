"""Who owns which file: stories that are on main and changed it (docs/impact.md)."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Protocol

from damascus.domain.ids import StoryId
from damascus.domain.spec import Spec


@dataclass(frozen=True)
class Owner:
    """A landed story, and which of the files that were asked about are its own. `spec` is what it promised, as frozen;
    None where it can't be read."""

    story: StoryId
    item: int
    files: tuple[str, ...]
    spec: Spec | None


class Owners(Protocol):
    """Of one repository."""

    def of(self, paths: Collection[str]) -> list[Owner] | None:
        """Who owns one of these paths, the first that landed first. None: nobody knows here."""

    def every(self) -> list[Owner] | None:
        """Who owns any file."""

    def kin(self, story: StoryId) -> list[Owner]:
        """Landed stories that this one is built on, through however many others, and those that are built on it; the
        latest first. Of no file."""
