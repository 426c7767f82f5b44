"""One transition, in one transaction and one round trip (store/functions/settle_item.sql).

`engine/lifecycle.settle` is its only caller: nothing else writes an item's phase while a worker holds it. Columns go by
their names: a field of the same name in Item and Transition is one, and so is every fact that is a field of Item.
"""

from collections.abc import Sequence
from dataclasses import fields
from datetime import datetime
from typing import Any

from psycopg.types.json import Jsonb

from damascus.domain.item import Item
from damascus.domain.policy import Transition
from damascus.domain.storable import storable
from damascus.store import journal, rows
from damascus.store.db import Connection, Database, jsonb, sql

CARRIED = tuple(field.name for field in fields(Transition) if field.name in rows.COLUMNS)
"""The columns that a transition sets and the engine reads."""
WAITS = ("state", "wait_kind", "wait_key", "not_before")
"""Those that it sets and only the database reads."""
QUEUE = ("queue_green", "queue_version")
"""Facts about the merge queue."""
BYTES = ("spec",)
"""Facts that go beside the JSON, which has no place for bytes."""


def settle(
    db: Database,
    item: Item,
    to: Transition,
    *,
    dones: Sequence[journal.DoneStep] = (),
    record: dict[str, object] | None = None,
    keep: bool = False,
) -> Item | None:
    """Write a transition. `keep` leaves the lease with the worker, which goes on with the item as it is now."""
    told = {
        "columns": _columns(item, to) | ({"state": "leased"} if keep else {}),
        "keep": keep,
        "run_no": item.run_no,
        "from": item.phase,
        "keep_place": to.keep_place,
        "frees_scope": to.frees_scope,
        "ends_record": to.ends_record,
        "question": _question(to),
        "record": record,
        "dones": [journal.as_json(done) for done in dones],
        "events": [list(event) for events in (*(done.events for done in dones), to.events) for event in events],
        **{name: to.facts.get(name) for name in QUEUE},
    }
    known = {name: value for name, value in told.items() if value is not None}  # what is not there reads as NULL
    given = {"item": item.id, "fence": item.fence, "columns": jsonb(known)}
    given |= {"spec": to.facts.get("spec"), "spans": to.facts.get("spans")}
    if not keep:
        db.do("settle_and_leave", **given)
        return None
    row = db.one("settle_item", **given)
    return rows.item(row) if row else None


def _columns(item: Item, to: Transition) -> dict[str, Any]:
    """What the row becomes, by column. A fact that is None leaves its column as it is."""
    facts = {name: value for name, value in to.facts.items() if name in rows.COLUMNS and name not in BYTES}
    return {
        **{name: _plain(getattr(to, name)) for name in (*CARRIED, *WAITS)},
        "last_verdict": to.verdict,
        "last_feedback": to.feedback.model_dump(mode="json") if to.feedback else None,
        "run_no": item.run_no + int(to.new_run),
        "rescues": 0,
        **{name: _plain(value) for name, value in facts.items() if value is not None},
    }


def _plain(value: Any) -> Any:
    return value.isoformat() if isinstance(value, datetime) else value


def _question(to: Transition) -> dict[str, object] | None:
    if to.question is None:
        return None
    return {"question": to.question.question, "options": list(to.question.options), "owner": to.question.owner}


def write_record(c: Connection, item_id: int, record: dict[str, object]) -> None:
    known = {name: storable(value) for name, value in record.items()}
    columns = {"step": None, "substate": None, "milestone": None, "line": None, "progress": None} | known
    if columns["progress"] is not None:
        columns["progress"] = Jsonb(columns["progress"])
    c.execute(sql("worker_record"), {"item": item_id, **columns})
