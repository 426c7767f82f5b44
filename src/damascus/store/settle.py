"""One transition, in one transaction and one round trip (function settle_item in the migrations).

`engine/lifecycle.settle` is its only caller: nothing else writes an item's phase while a worker holds it.
"""

from collections.abc import Sequence
from typing import Any

from psycopg.types.json import Jsonb

from damascus.domain.item import Item
from damascus.domain.policy import Transition
from damascus.domain.storable import storable
from damascus.store import journal, rows
from damascus.store.db import Connection, Database, jsonb, sql

FACTS = (
    "base_commit", "candidate", "pr_url", "merged_commit", "spec_hash", "file_scope", "rough",
    "queue_green", "queue_version",
)  # fmt: skip


def settle(
    db: Database,
    item: Item,
    to: Transition,
    *,
    dones: Sequence[journal.Done] = (),
    record: dict[str, object] | None = None,
    keep: bool = False,
) -> Item | None:
    """Write a transition. `keep` leaves the lease with the worker, which goes on with the item as it is now."""
    columns = {
        **_columns(item, to),
        "keep": keep,
        "record": record,
        "dones": [journal.as_json(done) for done in dones],
        "events": [list(event) for events in (*(done.events for done in dones), to.events) for event in events],
    }
    known = {name: value for name, value in columns.items() if value is not None}  # what is not there reads as NULL
    given = {"item": item.id, "fence": item.fence, "columns": jsonb(known)}
    given |= {"spec": to.facts.get("spec"), "spans": to.facts.get("spans")}
    if not keep:
        db.do("settle_and_leave", **given)
        return None
    row = db.one("settle_item", **given)
    return rows.item(row) if row else None


def _columns(item: Item, to: Transition) -> dict[str, Any]:
    return {
        "project": item.project_id,
        "run_no": item.run_no,
        "from": item.phase,
        "phase": to.phase,
        "state": to.state,
        "attempts": to.attempts,
        "verdict": to.verdict,
        "feedback": to.feedback.model_dump(mode="json") if to.feedback else None,
        "signature": to.failure_signature,
        "streak": to.failure_streak,
        "series_since": to.series_since.isoformat() if to.series_since else None,
        "series_count": to.series_count,
        "series_ended": to.series_ended,
        "wait_kind": to.wait_kind,
        "wait_key": to.wait_key,
        "not_before": to.not_before.isoformat() if to.not_before else None,
        "resume": to.resume_phase,
        "new_run": int(to.new_run),
        "keep_place": to.keep_place,
        "frees_scope": to.frees_scope,
        "ends_record": to.ends_record,
        "question": _question(to),
        **{name: to.facts.get(name) for name in FACTS},
    }


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
