"""Whoever acts on what was seen a while ago: has the story moved since?"""

from damascus.app import Project
from damascus.domain.errors import DamascusError
from damascus.store import views
from damascus.store.db import Database


def refuse_moved(db: Database, project: Project, story: str, seen: str | None) -> None:
    """`seen` is the phase that the caller saw; None: it does not matter."""
    if seen is None:
        return
    row = views.story_row(db, project.row, story)
    if row.phase != seen:
        raise DamascusError(
            f"{row.story_id} was in phase {seen} when you looked and is in {row.phase} now. Nothing was done. "
            f"Look again: damascus why {row.story_id}"
        )
