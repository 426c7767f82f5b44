"""`why`: one honest paragraph about a story, and what it was made of."""

from dataclasses import dataclass
from typing import Any

from damascus.app import App, Project
from damascus.people.published import item
from damascus.people.workers import living, locks_folder
from damascus.store.views import StoryRow
from damascus.store.why import facts
from damascus.system.hostid import is_dead
from damascus.telling.paragraph import paragraph


@dataclass(frozen=True)
class Explained:
    """The sentences in order, the row that they tell of, and where to look next."""

    sentences: tuple[str, ...]
    row: StoryRow
    following: str

    def published(self) -> dict[str, Any]:
        """The keys that programs read."""
        return {"story_id": self.row.story_id, "why": " ".join(self.sentences), "item": item(self.row)}


def explained(app: App, project: Project, story: str) -> Explained:
    """Where it is, since when, what it waits for, who must act, what happens next."""
    found = facts(app.database, project.row, story)
    said = paragraph(found, living(app, found.workers), lambda worker: is_dead(locks_folder(app), worker))
    return Explained(tuple(said), found.row, f"damascus show {found.row.story_id}")
