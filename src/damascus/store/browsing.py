"""Which stories a page of the window lists: those changed last first, from a place on.

A page costs the same however many stories there are: it walks along an index, and filters that no index knows (words,
verdict, repository) look at the `LOOK` stories that come next and no further. Nothing is counted.
"""

from dataclasses import dataclass
from datetime import datetime

from damascus.domain.verdict import ACTIVE, Phase, Verdict
from damascus.domain.waits import ItemState
from damascus.store.db import Database
from damascus.store.projects import ProjectRow

LOOK = 5_000
LAST_ID = 2**63 - 1
PAIRS = tuple(
    (state, phase)
    for phase in Phase
    for state in ((ItemState.READY, ItemState.LEASED, ItemState.WAITING) if phase in ACTIVE else (ItemState.RESTING,))
)
"""Every state that a story of a phase can be in."""


@dataclass(frozen=True)
class TableFilter:
    """What a page asks for. `repo` is the repository's number; None and "" ask for nothing."""

    phase: Phase | None = None
    state: ItemState | None = None
    text: str = ""
    verdict: Verdict | None = None
    repo: int | None = None

    @property
    def pairs(self) -> list[tuple[ItemState, Phase]]:
        """The states and phases that it leaves."""
        return [(s, p) for s, p in PAIRS if self.phase in (None, p) and self.state in (None, s)]

    @property
    def looks_further(self) -> bool:
        """Whether it asks for something that no index knows."""
        return bool(self.text or self.verdict or self.repo is not None)


@dataclass(frozen=True)
class PagePlace:
    """Where a page goes on: after this story, which was changed then."""

    at: datetime
    id: int


@dataclass(frozen=True)
class PageOfIds:
    """Stories in order; `older`: where to go on, None at the end. `cut`: it ended because enough was looked at."""

    ids: tuple[int, ...]
    older: PagePlace | None
    cut: bool = False


def page_of_ids(
    db: Database, project: ProjectRow, wanted: TableFilter, after: PagePlace | None, size: int
) -> PageOfIds:
    look = LOOK if wanted.looks_further else size + 1
    rows = db.all(
        "stories_page",
        project=project.id,
        states=[state.value for state, _ in wanted.pairs],
        phases=[phase.value for _, phase in wanted.pairs],
        at=after.at if after else "infinity",
        id=after.id if after else LAST_ID,
        text=wanted.text or None,
        verdict=wanted.verdict.value if wanted.verdict else None,
        repo=wanted.repo,
        look=look,
        limit=size + 1,
    )
    hits = [row for row in rows if row["hit"]]
    if len(hits) > size:
        return PageOfIds(
            tuple(row["id"] for row in hits[:size]), PagePlace(hits[size - 1]["updated_at"], hits[size - 1]["id"])
        )
    last = rows[-1] if rows and rows[-1]["last"] else None
    older = PagePlace(last["updated_at"], last["id"]) if last else None
    return PageOfIds(tuple(row["id"] for row in hits), older, cut=older is not None)


def has_stories(db: Database, project: ProjectRow) -> bool:
    return db.one("any_story", project=project.id) is not None
