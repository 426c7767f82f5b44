"""The journal of a run: what each step was given and what it returned, first writer wins."""

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from psycopg.types.json import Jsonb

from damascus.domain.feedback import storable
from damascus.domain.item import Item
from damascus.store.db import Connection, Database, sql


@dataclass(frozen=True)
class Entry:
    """One step of a run."""

    step: str
    key: str
    status: str
    fence: int
    input: dict[str, Any]
    output: Any


@dataclass(frozen=True)
class Done:
    """A finished step, to be written."""

    step: str
    key: str
    started_at: datetime
    output: Any
    input: dict[str, Any] = field(default_factory=dict)
    events: tuple[tuple[str, dict[str, object]], ...] = ()


def load(db: Database, item: Item) -> dict[tuple[str, str], Entry]:
    found = db.all("journal_of_run", item=item.id, run=item.run_no)
    return {
        (r["step"], r["key"]): Entry(r["step"], r["key"], r["status"], r["fence"], r["input"], r["output"])
        for r in found
    }


def write_intent(c: Connection, item: Item, step: str, key: str, given: dict[str, Any]) -> None:
    c.execute(sql("journal_intent"), _where(item, step, key) | {"input": Jsonb(storable(given))})


def write_done(c: Connection, item: Item, done: Done) -> None:
    params = {
        "input": Jsonb(storable(done.input)),
        "output": Jsonb(storable(done.output)),
        "ago": datetime.now(UTC) - done.started_at,  # not when: this worker's clock may be wrong by minutes
    }
    c.execute(sql("journal_done"), _where(item, done.step, done.key) | params)
    if item.rescues:
        c.execute(sql("moved_on"), {"item": item.id, "fence": item.fence})
    write_events(c, item.project_id, item.id, done.events)


def write_events(
    c: Connection, project: int, item: int | None, events: tuple[tuple[str, dict[str, object]], ...]
) -> None:
    if events:
        kinds = [kind for kind, _ in events]
        bodies = [Jsonb(storable(body)) for _, body in events]
        c.execute(sql("event"), {"project": project, "item": item, "kinds": kinds, "bodies": bodies})


def older_push_intent(db: Database, item: Item) -> bool:
    row = db.one("push_intents", item=item.id, fence=item.fence)
    return bool(row and row["older"])


def left_processes(db: Database, item: Item) -> list[dict[str, Any]]:
    """The agents that were started for this item and whose end nobody recorded."""
    return [row["process"] for row in db.all("left_processes", item=item.id)]


def _where(item: Item, step: str, key: str) -> dict[str, Any]:
    return {
        "item": item.id,
        "run": item.run_no,
        "phase": item.phase.value,
        "step": step,
        "key": key,
        "fence": item.fence,
    }
