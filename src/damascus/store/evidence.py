"""What the journal proves: the newest result of a step, and all of them for a receipt."""

from typing import Any

from damascus.store.db import Database


def latest(db: Database, item_id: int, step: str) -> Any:
    """The output of the newest finished step of that name, in any run."""
    row = db.one("latest_step", item=item_id, step=step)
    return row["output"] if row else None
