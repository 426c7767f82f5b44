"""What the pages ask for is a short walk along an index, however many stories and events there are."""

from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import pytest

from damascus.store import projects
from damascus.store.db import Database, sql
from tests.store.test_views import fill

pytestmark = pytest.mark.req("X12")
STORIES, EVENTS = 2_000, 40_000
WRITE = """
INSERT INTO events_outbox (project_id, item_id, kind, body)
SELECT %(project)s, (SELECT min(id) FROM work_items) + n %% %(stories)s,
       CASE WHEN n %% 50 = 0 THEN 'attempt.rejected' WHEN n %% 50 = 1 THEN 'story.landed' ELSE 'item.claimed' END, '{}'
  FROM generate_series(1, %(events)s) n
"""
NUMBER = "INSERT INTO event_numbers (seq, event_id) SELECT row_number() OVER (ORDER BY id), id FROM events_outbox"
MOST = {
    "events_down": ({"low": 1, "high": EVENTS, "kind": None, "limit": 100}, 100),
    "events_up": ({"low": 1, "high": EVENTS, "kind": None, "limit": 100}, 100),
    "events_down of a rare kind": ({"low": EVENTS - 500, "high": EVENTS, "kind": "ship.declared", "limit": 100}, 500),
    "ledger_rejections": ({"limit": 100}, 100),
    "ledger_landed": ({"limit": 100}, 100 * 2 * EVENTS // STORIES),
    "train_durations": ({"limit": 50}, 50),
    "train": ({"limit": 200}, 0),
    "train_behind": ({"limit": 50}, 50),
    "holders_of_files": ({"waiters": 11, "limit": 200}, 1),
    "ledger_waits_now": ({"kinds": ["scope", "ci"], "most": 100}, 100),
    "leases_of_project": ({"limit": 200}, 1),
}


@pytest.fixture
def project(db: Database) -> int:
    row = projects.register(db, uuid4(), "calc", "/nowhere", ("main", None))
    fill(db, row, STORIES)
    db.run(lambda c: c.execute(WRITE.encode(), {"project": row.id, "stories": STORIES, "events": EVENTS}))
    db.run(lambda c: c.execute(NUMBER.encode()))
    db.connection().execute("VACUUM ANALYZE events_outbox, event_numbers, work_items, journal, spending")
    return row.id


def test_no_page_reads_more_than_it_shows(db: Database, project: int) -> None:
    for told, (params, most) in MOST.items():
        text = f"EXPLAIN (ANALYZE, FORMAT JSON) {sql(told.partition(' ')[0])}"
        [plan] = db.run(
            lambda c, text=text, params=params: c.execute(text.encode(), {"project": project, **params}).fetchall()
        )
        read = max(rows_read(plan["QUERY PLAN"][0]["Plan"]))
        assert read <= most, f"{told} read {read} rows"


def rows_read(plan: dict[str, Any]) -> Iterator[int]:
    """Of each part of a plan: rows that it gave or threw away, in all its loops."""
    yield round((plan["Actual Rows"] + plan.get("Rows Removed by Filter", 0)) * plan["Actual Loops"])
    for part in plan.get("Plans", ()):
        yield from rows_read(part)
