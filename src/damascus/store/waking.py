"""Waits that a webhook may end before their time. What is woken looks by itself; it is told nothing."""

from damascus.domain.ids import Sha
from damascus.domain.waits import WaitKind
from damascus.store.db import Database

CI_WAITS = (WaitKind.CI, WaitKind.MIRROR)
"""Kinds of wait whose key is the commit that CI works on."""


def wake_ci(db: Database, commit: Sha) -> int:
    """How many items were woken."""
    row = db.one("wake_ci", sha=commit, kinds=list(CI_WAITS))
    return int(row["woken"]) if row else 0
