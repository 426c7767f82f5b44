"""A story that is built anew, and the way back: until the rebuild has landed, it can be what it was on main."""

from damascus.domain.errors import DamascusError
from damascus.domain.events import Event, EventKind
from damascus.domain.verdict import Phase
from damascus.store.db import Connection, Row, sql
from damascus.store.journal import write_events

OVER = (Phase.DONE, Phase.STALE, Phase.CANCELLED)


def is_rebuild(row: Row) -> bool:
    """Approved, and not on main: what it was before is kept with its change."""
    return row["phase"] not in OVER and bool((row["change"] or {}).get("original"))


def refuse_landing(c: Connection, row: Row, what: str) -> None:
    """A landing that recorded its intent may already have moved main: only its worker or heir can tell."""
    if c.execute(sql("landing_begun"), {"item": row["id"], "run": row["run_no"]}).fetchone() is not None:
        raise DamascusError(
            f"{row['story_id']} is landing on main at this moment: too late to {what}. Nothing was changed. "
            "If it must go, revert the commit on main."
        )


def take_back(c: Connection, project: int, row: Row, by: str, told: tuple[Event, ...] = ()) -> bool:
    """Done again with the commit that is on main; who waited for it goes on. Its lease is locked before its row. True:
    a worker had it and is shut out; what its agent wrote is kept as a snapshot, as with every story that is ended."""
    refuse_landing(c, row, "take it back")
    item = {"item": row["id"]}
    leased = c.execute(sql("drop_lease_of"), {"id": row["id"]}).fetchone() is not None
    c.execute(sql("take_back_rebuild"), {"id": row["id"]})
    for statement in ("free_scope", "drop_worker_record", "leave_queue"):
        c.execute(sql(statement), item)
    c.execute(sql("close_issues"), item | {"answer": f"the change is taken back ({by})"})
    c.execute(sql("wake_dependents"), item)
    moved: Event = (EventKind.PHASE_TRANSITIONED, {"from": row["phase"], "to": Phase.DONE.value, "why": "a change"})
    write_events(c, project, row["id"], ((EventKind.STORY_CHANGE_UNDONE, {"by": by}), moved, *told))
    return leased
