"""One transaction: fence check, journal, row, lease, scope, landing, events, question.

`engine/lifecycle.settle` is its only caller: nothing else writes an item's phase while a worker holds it.
"""

from collections.abc import Sequence
from typing import Any

from psycopg.types.json import Jsonb

from damascus.domain.feedback import clean, storable
from damascus.domain.item import Item
from damascus.domain.policy import Transition
from damascus.store import journal, leases, rows
from damascus.store.db import Connection, Database, pipeline, sql

FACTS = (
    "base_commit", "candidate", "pr_url", "merged_commit", "spec", "spec_hash", "file_scope", "spans", "rough",
)  # fmt: skip


def settle(
    db: Database,
    item: Item,
    to: Transition,
    *,
    dones: Sequence[journal.Done] = (),
    record: dict[str, object] | None = None,
    keep: bool = False,
) -> Item:
    """Write a transition; the item as it is now. `keep` leaves the lease with the worker, which goes on."""

    def work(c: Connection) -> Item:
        leases.assert_fence(c, item.id, item.fence)
        with pipeline(c):
            for done in dones:
                journal.write_done(c, item, done)
            if to.facts.get("spans") is not None:
                c.execute(sql("free_scope"), {"item": item.id})
            written = c.execute(sql("settle_item"), _columns(item, to, keep))
            _leave(c, item, to, keep)
            _record(c, item, to, record)
            journal.write_events(c, item.project_id, item.id, to.events)
            _ask(c, item, to)
        row = written.fetchone()
        assert row is not None
        return rows.item(row)

    return db.run(work)


def _columns(item: Item, to: Transition, keep: bool) -> dict[str, Any]:
    columns: dict[str, Any] = {
        "item": item.id,
        "fence": item.fence,
        "phase": to.phase.value,
        "state": "leased" if keep else to.state,
        "attempts": to.attempts,
        "verdict": to.verdict.value if to.verdict else None,
        "feedback": Jsonb(storable(to.feedback.model_dump(mode="json"))) if to.feedback else None,
        "signature": _text(to.failure_signature),
        "streak": to.failure_streak,
        "series_since": to.series_since,
        "series_count": to.series_count,
        "series_ended": to.series_ended,
        "wait_kind": to.wait_kind,
        "wait_key": _text(to.wait_key),
        "not_before": to.not_before,
        "resume": to.resume_phase.value if to.resume_phase else None,
        "new_run": int(to.new_run),
    }
    return columns | {name: to.facts.get(name) for name in FACTS}


def _text(value: str | None) -> str | None:
    """Paths and messages may hold what no text column takes."""
    return None if value is None else clean(value)


def _leave(c: Connection, item: Item, to: Transition, keep: bool) -> None:
    if not keep:
        c.execute(sql("drop_lease"), {"item": item.id, "fence": item.fence})
    if to.frees_scope:
        c.execute(sql("free_scope"), {"item": item.id})
        if to.phase.value == "done":
            c.execute(sql("main_is_at"), {"repo": item.repo_id, "tip": to.facts["merged_commit"]})
            c.execute(sql("wake"), {"kind": "dependency", "key": str(item.id), "limit": 2**31 - 1})
    if not to.keep_landing:
        c.execute(sql("release_landing"), {"item": item.id})
    if to.wait_kind == "landing":
        target = str(to.wait_key).split(" ", 1)[1]
        c.execute(sql("wait_for_landing"), {"repo": item.repo_id, "target": target, "item": item.id})


def _record(c: Connection, item: Item, to: Transition, record: dict[str, object] | None) -> None:
    if to.frees_scope or to.ends_record:
        c.execute(sql("drop_worker_record"), {"item": item.id})
    elif record:
        write_record(c, item.id, record)


def write_record(c: Connection, item_id: int, record: dict[str, object]) -> None:
    known = {name: storable(value) for name, value in record.items()}
    columns = {"step": None, "substate": None, "milestone": None, "line": None, "progress": None} | known
    if columns["progress"] is not None:
        columns["progress"] = Jsonb(columns["progress"])
    c.execute(sql("worker_record"), {"item": item_id, **columns})


def _ask(c: Connection, item: Item, to: Transition) -> None:
    if to.question is None:
        return
    q = to.question
    params = {"project": item.project_id, "item": item.id, "owner": q.owner}
    asked = {"question": clean(q.question), "options": [clean(option) for option in q.options]}
    c.execute(sql("open_issue"), params | asked)
    journal.write_events(c, item.project_id, item.id, (("issue.opened", {"question": q.question}),))
