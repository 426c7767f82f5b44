"""The stories of a project as a table asks for them: filtered, page by page, changed last first."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TypeVar

from damascus.app import App, Project
from damascus.domain.described import Described
from damascus.domain.errors import UsageError
from damascus.domain.verdict import Phase, Verdict
from damascus.domain.visible import visible
from damascus.domain.waits import ItemState
from damascus.people import claims
from damascus.store import browsing, projects, views
from damascus.store.browsing import PagePlace, TableFilter
from damascus.store.views import StoryRow
from damascus.telling.browsing import why_empty

SIZE = 50
LONGEST = 200
"""Characters of a search: nobody remembers more of a title."""

D = TypeVar("D", bound=Described)


@dataclass(frozen=True)
class StoriesPage:
    """One page. `older` is where the next one begins; `empty` says why there is nothing."""

    wanted: TableFilter
    repositories: tuple[tuple[int, str], ...]
    rows: tuple[StoryRow, ...]
    older: str | None
    cut: bool
    empty: str = ""


def stories_page(app: App, project: Project, asked: Mapping[str, str], size: int = SIZE) -> StoriesPage:
    """`asked`: phase, state, q, verdict, repo, before; whatever else is there is not ours."""
    db, known = app.database, _repositories(app, project)
    wanted = read_filter(asked, known)
    after = read_place(asked.get("before", ""))
    found = browsing.page_of_ids(db, project.row, wanted, after, size)
    ids = [*_by_name(app, project, wanted, after), *found.ids]
    rows = views.rows_of(db, project.row, list(dict.fromkeys(ids)))
    if any(row.phase is Phase.DONE for row in rows):
        missing = claims.last_known_missing(app, project)
        rows = [claims.marked(row, missing) for row in rows]
    empty = "" if rows else why_empty(_asked(wanted, known), found.cut, browsing.has_stories(db, project.row))
    return StoriesPage(wanted, known, tuple(rows), written_place(found.older), found.cut, empty)


def _repositories(app: App, project: Project) -> tuple[tuple[int, str], ...]:
    return tuple((row.repo_id, row.repo) for row in projects.repositories(app.database, project.row.uuid))


def _by_name(app: App, project: Project, wanted: TableFilter, after: PagePlace | None) -> list[int]:
    """Who types a story's whole id finds it, however long it has not changed."""
    if not wanted.text or after is not None or replace(wanted, text="") != TableFilter():
        return []
    row = app.database.one("story", project=project.row.id, story=wanted.text)
    return [row["id"]] if row else []


# ── filters in a URL ──────────────────────────────────────────────────────────────────────────────────


def read_filter(asked: Mapping[str, str], repositories: tuple[tuple[int, str], ...] = ()) -> TableFilter:
    """Or one sentence about the word that is none."""
    name = asked.get("repo", "")
    found = [number for number, known in repositories if known.lower() == name.lower()]
    if name and not found:
        named = ", ".join(known for _, known in repositories)
        raise UsageError(f"this project has no repository {visible(name)[:60]!r}. It has: {named}.")
    return TableFilter(
        phase=word_of(Phase, "phase", asked.get("phase", "")),
        state=word_of(ItemState, "state", asked.get("state", "")),
        text=visible(asked.get("q", ""))[:LONGEST].strip(),
        verdict=word_of(Verdict, "verdict", asked.get("verdict", "")),
        repo=found[0] if found else None,
    )


def word_of(words: type[D], name: str, said: str) -> D | None:
    """One of the words, or none where nothing is said."""
    if not said:
        return None
    try:
        return words(said)
    except ValueError:
        raise UsageError(f"there is no {name} {visible(said)[:60]!r}. There are: {', '.join(words)}.") from None


def written_place(place: PagePlace | None) -> str | None:
    """Microseconds since 1970, and the story's number: all digits, so that it needs no quoting."""
    return f"{round(place.at.timestamp() * 1_000_000)}-{place.id}" if place else None


def read_place(text: str) -> PagePlace | None:
    if not text:
        return None
    at, _, number = text.partition("-")
    if not (at.isascii() and at.isdecimal() and number.isascii() and number.isdecimal() and len(text) < 40):
        raise UsageError("that place in the list can't be read. Begin anew with the first page.")
    try:
        micros = int(at)
        moment = datetime.fromtimestamp(micros // 1_000_000, UTC).replace(microsecond=micros % 1_000_000)
    except (ValueError, OverflowError, OSError):
        raise UsageError("that place in the list can't be read. Begin anew with the first page.") from None
    return PagePlace(moment, min(int(number), browsing.LAST_ID))


def _asked(wanted: TableFilter, repositories: tuple[tuple[int, str], ...]) -> list[str]:
    named = dict(repositories)
    words = [("phase", wanted.phase), ("state", wanted.state), ("verdict", wanted.verdict)]
    told = [f"{name} {word}" for name, word in words if word]
    told += [f"“{wanted.text}” in its id or title"] if wanted.text else []
    return told + ([f"repository {named[wanted.repo]}"] if wanted.repo is not None else [])
