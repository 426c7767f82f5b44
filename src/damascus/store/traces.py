"""Stories that came to rest, and what their traces are made of: events and the journal alone."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from damascus.store import spending
from damascus.store.db import Database, Row


@dataclass(frozen=True)
class AtRest:
    """A story that came to rest: in which phase, when, and which rest of it was the one before (an event)."""

    seq: int
    event: int
    item_id: int
    ended_at: datetime
    phase: str
    story_id: str
    uuid: Any
    merged_commit: str | None
    attempts: int
    before: int | None


@dataclass(frozen=True)
class StoryStretch:
    """A story's way from where it began, or went on, to where it came to rest."""

    rest: AtRest
    events: tuple[Row, ...]
    steps: tuple[Row, ...]
    spent: tuple[Row, ...]


def stories_at_rest(db: Database, project: int, after: int, upto: int, most: int) -> list[AtRest]:
    rows = db.all("stories_at_rest", project=project, after=after, upto=upto, most=most)
    return [AtRest(**row) for row in rows]


def stretch(db: Database, rest: AtRest) -> StoryStretch:
    events = db.all("events_of_stretch", item=rest.item_id, before=rest.before, event=rest.event)
    steps = db.all("steps_of_stretch", item=rest.item_id, before=rest.before, ended=rest.ended_at)
    return StoryStretch(rest, tuple(events), tuple(steps), tuple(spending.of_story(db, rest.item_id)))
