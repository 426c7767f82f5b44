"""The questions that only a person can answer, the most urgent first."""

from typing import Any

from damascus.app import Project
from damascus.domain import recovery
from damascus.store.db import Database, Row


def open_questions(db: Database, project: Project) -> list[Row]:
    return db.all("open_issues", project=project.row.id)


def published(issue: Row) -> dict[str, Any]:
    """The keys that programs read, each option with its id and its effect."""
    kept = ("id", "story_id", "title", "question", "options", "owner", "created_at", "phase", "attempts",
            "budget_cycles", "last_verdict", "last_feedback", "priority", "answer", "concerns")  # fmt: skip
    story = issue["story_id"] is not None
    options = [recovery.option_of(text, story=story) for text in issue["options"]]
    choices = [{"number": n, "id": one.id, "text": one.text, "effect": one.effect} for n, one in enumerate(options, 1)]
    return {key: issue[key] for key in kept} | {"choices": choices}
