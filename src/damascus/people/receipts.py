"""A story's receipt, as a person asks for it."""

from dataclasses import dataclass, replace

from damascus.domain.errors import NotThere
from damascus.domain.receipt import BuildReceipt
from damascus.store import receipts, views
from damascus.store.db import Database
from damascus.store.patterns import applied_in
from damascus.store.projects import ProjectRow


@dataclass(frozen=True)
class StoryReceipt:
    """`landed` is the commit on main; None: it is not there yet."""

    receipt: BuildReceipt
    landed: str | None
    patterns: tuple[str, ...] = ()
    """Of the pattern library: those that its agents applied."""


def receipt_of_story(db: Database, project: ProjectRow, story: str) -> StoryReceipt:
    """The newest, be it of a run that a critic or a gate ended."""
    row = views.story_row(db, project, story)
    return replace(_found(receipts.newest_receipt(db, row.id), row), patterns=tuple(applied_in(db, row.id)))


def proved_receipt(db: Database, project: ProjectRow, story: str) -> StoryReceipt:
    """The newest of a commit that passed the gates."""
    row = views.story_row(db, project, story)
    return _found(receipts.latest_receipt(db, row.id), row)


def _found(receipt: BuildReceipt | None, row: views.StoryRow) -> StoryReceipt:
    if receipt is None:
        raise NotThere(
            f"{row.story_id} has no receipt yet: no commit of it has passed the gates. What there is: "
            f"damascus receipt {row.story_id} --evidence; what it waits for: damascus why {row.story_id}"
        )
    return StoryReceipt(receipt, row.merged_commit)
