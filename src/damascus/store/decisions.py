"""What agents decided and assumed: numbered without gaps per project, each once, in the transaction of its step."""

from collections.abc import Sequence

from damascus.domain.decisions import AgentDecision
from damascus.domain.events import Event, EventKind
from damascus.domain.item import Item
from damascus.store.db import Connection, Database, Row, jsonb, sql
from damascus.store.journal import write_events


def record(c: Connection, item: Item, decisions: Sequence[AgentDecision], assumptions: Sequence[str]) -> None:
    """Within the caller's transaction, under its fence. A title that this story had before keeps its number."""
    if not decisions and not assumptions:
        return
    params = {"project": item.project_id, "item": item.id}
    c.execute(sql("lock_records"), params)
    listed = jsonb([one.model_dump() for one in decisions])
    found = c.execute(sql("record_decisions"), params | {"decisions": listed}).fetchall()
    c.execute(sql("record_assumptions"), params | {"assumptions": list(assumptions)})
    told: tuple[Event, ...] = tuple(
        (EventKind.DECISION_RECORDED, {name: row[name] for name in ("number", "title", "pattern")}) for row in found
    )
    write_events(c, item.project_id, item.id, told)


def decisions_of(db: Database, repo: int) -> list[Row]:
    """Oldest first, each with its story."""
    return db.all("decisions_of", repo=repo)


def assumptions_of(db: Database, repo: int) -> list[Row]:
    return db.all("assumptions_of", repo=repo)
