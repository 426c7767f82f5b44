"""Stories in pages, for whoever shows more of them than fit: a page and where the next one begins."""

from collections.abc import Sequence
from dataclasses import dataclass

from damascus.app import Project
from damascus.domain.errors import UsageError
from damascus.domain.verdict import Phase
from damascus.domain.waits import WaitKind
from damascus.store import listing
from damascus.store.db import Database
from damascus.store.listing import StoryFilter
from damascus.store.views import StoryRow
from damascus.telling.phrases import one_line

MOST = 200
DIGITS = 18


@dataclass(frozen=True)
class StoryPage:
    """`following` is where the next page begins; None: this was the last."""

    rows: tuple[StoryRow, ...]
    following: str | None


def stories(db: Database, project: Project, wanted: StoryFilter, cursor: str | None, limit: int) -> StoryPage:
    """Newest first. What is added meanwhile comes before the first page: no story is met twice, none is left out."""
    most = max(1, min(limit, MOST))
    rows = listing.stories(db, project.row, wanted, number(cursor), most + 1)
    more = len(rows) > most
    shown = rows[:most]
    return StoryPage(tuple(shown), str(shown[-1].id) if more else None)


def number(cursor: str | None) -> int | None:
    if cursor is None:
        return None
    if not (cursor.isascii() and cursor.isdecimal()) or len(cursor) > DIGITS:
        raise UsageError(f"{one_line(cursor)[:40]!r} is no cursor. Give what the last page called next, or none.")
    return int(cursor)


def wanted(phases: Sequence[str] = (), wait: str | None = None) -> StoryFilter:
    """By the words of a phase and of a wait; a word that is none is refused with those that are."""
    return StoryFilter(tuple(_phase(word) for word in phases), None if wait is None else _wait(wait))


def _phase(word: str) -> Phase:
    if word not in set(Phase):
        raise UsageError(f"there is no phase {one_line(word)[:40]!r}. There are: {', '.join(Phase)}")
    return Phase(word)


def _wait(word: str) -> WaitKind:
    if word not in set(WaitKind):
        raise UsageError(f"nothing waits for {one_line(word)[:40]!r}. There are: {', '.join(WaitKind)}")
    return WaitKind(word)
