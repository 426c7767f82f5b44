"""The journal of a run: what each step was given and what it returned, first writer wins."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from damascus.domain.events import Event
from damascus.domain.item import Item
from damascus.store.db import Connection, Database, jsonb, sql


@dataclass(frozen=True)
class JournalEntry:
    """One step of a run."""

    step: str
    key: str
    status: str
    fence: int
    input: dict[str, Any]
    output: Any


@dataclass(frozen=True)
class DoneStep:
    """A finished step, to be written."""

    step: str
    key: str
    started_at: datetime
    output: Any
    input: dict[str, Any] = field(default_factory=dict)
    events: tuple[Event, ...] = ()


def load(db: Database, item: Item) -> dict[tuple[str, str], JournalEntry]:
    found = db.all("journal_of_run", item=item.id, run=item.run_no)
    return {
        (r["step"], r["key"]): JournalEntry(r["step"], r["key"], r["status"], r["fence"], r["input"], r["output"])
        for r in found
    }


def latest(db: Database, item_id: int, *steps: str) -> Any:
    """The output of the newest finished step of one of these names, in any run."""
    row = db.one("latest_step", item=item_id, steps=list(steps))
    return row["output"] if row else None


def write_intent(c: Connection, item: Item, step: str, key: str, given: dict[str, Any]) -> None:
    c.execute(sql("journal_intent"), _where(item, step, key) | {"input": jsonb(given)})


def as_json(done: DoneStep) -> dict[str, Any]:
    ago = datetime.now(UTC) - done.started_at  # not when: this worker's clock may be wrong by minutes
    return {
        "step": done.step,
        "key": done.key,
        "input": done.input,
        "output": done.output,
        "ago": ago.total_seconds(),
        "events": [list(event) for event in done.events],
    }


def write_dones(c: Connection, item: Item, dones: Sequence[DoneStep]) -> None:
    """Under the fence, in one round trip: the steps that are done and the events that tell of them."""
    c.execute(sql("fenced_dones"), _dones(item, dones))


def record_dones(db: Database, item: Item, dones: Sequence[DoneStep]) -> None:
    """The same as a transaction of its own."""
    db.do("fenced_dones", **_dones(item, dones))


def _dones(item: Item, dones: Sequence[DoneStep]) -> dict[str, Any]:
    listed = jsonb([as_json(done) for done in dones])
    where = {"item": item.id, "fence": item.fence, "run": item.run_no, "phase": item.phase.value}
    return where | {"project": item.project_id, "dones": listed}


def write_events(c: Connection, project: int, item: int | None, events: tuple[Event, ...]) -> None:
    if events:
        listed = jsonb([list(event) for event in events])
        c.execute(sql("events"), {"project": project, "item": item, "events": listed})


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
