"""What happened, page by page: the numbered stream of a project or of one story."""

from collections.abc import Mapping
from dataclasses import dataclass

from damascus.app import App, Project
from damascus.domain.errors import UsageError
from damascus.domain.events import EventKind
from damascus.people.browsing import word_of
from damascus.store import event_pages, stream, views
from damascus.store.event_pages import LAST, EventFilter, PageOfEvents

SIZE = 100


@dataclass(frozen=True)
class EventsShown:
    """A page of events, and what was asked for."""

    page: PageOfEvents
    story: str
    kind: EventKind | None
    empty: str = ""


def events_page(app: App, project: Project, asked: Mapping[str, str], size: int = SIZE) -> EventsShown:
    """`asked`: story, kind, and before or after a number."""
    db = app.database
    story, kind = asked.get("story", "").strip(), word_of(EventKind, "kind", asked.get("kind", ""))
    item = views.story_row(db, project.row, story) if story else None
    wanted = EventFilter(project.row.id, item.id if item else None, kind.value if kind else None)
    before, after = _number(asked, "before"), _number(asked, "after")
    stream.publish(db)
    if after is not None:
        page = event_pages.oldest_after(db, wanted, after, size)
    else:
        page = event_pages.newest_before(db, wanted, before, size)
    return EventsShown(page, item.story_id if item else "", kind, "" if page.rows else _why_empty(page, wanted))


def _number(asked: Mapping[str, str], name: str) -> int | None:
    text = asked.get(name, "")
    if not text:
        return None
    if not (text.isascii() and text.isdecimal() and len(text) < 20):
        raise UsageError(f"{name} must be the number of an event, as {name}=1200.")
    return min(int(text), LAST)


def _why_empty(page: PageOfEvents, wanted: EventFilter) -> str:
    what = f"No event {wanted.kind}" if wanted.kind else "No event"
    if page.cut:
        return f"{what} is among the {event_pages.LOOK:,} that were looked through here; others may hold one."
    if page.gone:
        return f"{what} is left here: events up to number {page.gone:,} went by age (damascus db prune)."
    return f"{what} has been written yet." if not wanted.item else f"{what} has been written for this story yet."
