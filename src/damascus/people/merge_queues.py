"""The merge queues of a project: who is in line, on top of whom each is tested, and how that goes."""

from typing import Any

from damascus.app import Project
from damascus.store import listing
from damascus.store.db import Database, Row


def merge_queues(db: Database, project: Project) -> list[dict[str, Any]]:
    """The keys that programs read: one queue for each branch that stories land on, its entries in order. `on` is the
    story that an entry is tested on top of; None is main."""
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for row in listing.queues(db, project.row):
        one = {"repo": row["repo"], "target": row["target"], "width": row["width"], "entries": []}
        line = found.setdefault((row["repo"], row["target"]), one)
        if row["story_id"] is not None:
            line["entries"].append(_entry(row, line["entries"]))
    return list(found.values())


def _entry(row: Row, ahead: list[dict[str, Any]]) -> dict[str, Any]:
    below = next((one["story_id"] for one in reversed(ahead) if one["commit"] == row["base"]), None)
    kept = ("story_id", "title", "state", "base", "commit", "entered_at")
    return {**{key: row[key] for key in kept}, "place": len(ahead) + 1, "on": below}
