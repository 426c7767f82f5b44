"""64 claimers at once over overlapping scopes: never two stories on one file, never "empty" while work is ready."""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from uuid import uuid4

import pytest

from damascus.domain.feedback import VerdictFeedback
from damascus.domain.outcome import Rejected
from damascus.domain.scope import Scope, parse_scope
from damascus.domain.verdict import Verdict
from damascus.store import leases, rows
from damascus.store.db import Connection, Database, sql
from damascus.store.migrate import schema_range
from tests.databases import fresh_database
from tests.store.lane import LEASE, Lane

CLAIMERS = 64
POOL = [
    "src/",
    "src/a.py",
    "src/b.py",
    "docs/*.md",
    "docs/x.md",
    "lib/one/",
    "lib/**",
    "lib/two/z",
    "tool.py",
    "free.py",
]


@dataclass
class Crowd:
    """Claimers in threads, each with a connection of its own; what was in flight when, by one clock."""

    url: str
    claim: Callable[[Database], tuple[str, Scope, Callable[[], None]] | None]
    total: int
    flights: list[tuple[float, float, str, Scope]] = field(default_factory=list)
    failed: list[BaseException] = field(default_factory=list)
    landed: int = 0
    news: threading.Condition = field(default_factory=threading.Condition)

    def run(self) -> None:
        start = threading.Barrier(CLAIMERS, timeout=60)
        threads = [threading.Thread(target=self._one, args=(start,)) for _ in range(CLAIMERS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(120)
        if self.failed:
            raise self.failed[0]

    def _one(self, start: threading.Barrier) -> None:
        db = Database(self.url)
        try:
            db.connection()
            start.wait()
            while self.landed < self.total and not self.failed:
                self._fly(db)
        except BaseException as err:
            self.failed.append(err)
        finally:
            db.close()
            with self.news:
                self.news.notify_all()

    def _fly(self, db: Database) -> None:
        claimed = self.claim(db)
        if claimed is None:
            with self.news:
                self.news.wait(0.05)
            return
        name, scope, settle = claimed
        begun = time.monotonic()
        threading.Event().wait(0.001)
        ended = time.monotonic()
        settle()
        with self.news:
            self.flights.append((begun, ended, name, scope))
            self.landed += 1
            self.news.notify_all()

    def overlaps(self) -> list[tuple[str, str]]:
        """Pairs that were in flight at one time with overlapping scopes."""
        found = []
        flights = sorted(self.flights)
        for n, (_, ended, name, scope) in enumerate(flights):
            for begun, _, other, theirs in flights[n + 1 :]:
                if begun >= ended:
                    break
                if scope.overlaps(theirs):
                    found.append((name, other))
        return found


@pytest.mark.req("D1", "D17")
def test_64_claimers_never_overlap_and_are_never_told_empty_while_work_is_ready() -> None:
    with fresh_database() as url:
        setup = Database(url)
        lane = Lane(setup)
        for n, pattern in enumerate(POOL):
            lane.bulk(f"S{n}-", 16, pattern)

        def one(db: Database) -> tuple[str, Scope, Callable[[], None]] | None:
            item_id = db.run(lambda c: claim_and_look(c, lane.project.id))
            if item_id is None:
                return None
            [row] = db.all("items_by_id", ids=[item_id])
            item = rows.item(row)
            here = Lane.__new__(Lane)
            here.db, here.project = db, lane.project

            def settle() -> None:
                if item.attempts == 0 and item.id % 5 == 0:
                    here.settle(item, Rejected(Verdict.NO_PR, VerdictFeedback()))
                else:
                    here.land(item)

            return item.story_id, parse_scope(list(item.file_scope)), settle

        total = 16 * len(POOL)
        again = len(lane.query("SELECT id FROM work_items WHERE id % 5 = 0"))
        crowd = Crowd(url, one, total + again)
        crowd.run()
        assert crowd.overlaps() == []
        assert lane.query("SELECT phase, count(*) AS n FROM work_items GROUP BY 1") == [{"phase": "done", "n": total}]
        assert lane.violations() == []
        setup.close()


def claim_and_look(c: Connection, project: int) -> int | None:
    """A claim; if it says "empty", no row that was ready before it began still is, under the lock that it holds."""
    [before] = c.execute("SELECT pg_current_snapshot()::text AS seen").fetchall()
    known = schema_range()
    params = {"project": project, "worker": "w", "count": 1, "lease": LEASE, "look": leases.LOOK}
    params |= {"low": known.low, "high": known.high}
    found = c.execute(sql("claim"), params).fetchall()
    if found[0]["item_id"] is not None:
        return int(found[0]["item_id"])
    ready = (
        "SELECT story_id FROM work_items WHERE project_id = %s AND state = 'ready'"
        " AND pg_visible_in_snapshot(xmin::text::xid8, %s::pg_snapshot)"
    )
    missed = [row["story_id"] for row in c.execute(ready, (project, before["seen"]))]
    assert missed == [], "told empty while these were ready"
    return None


NAIVE = """
UPDATE naive SET state = 'leased' WHERE id = (
    SELECT n.id FROM naive n WHERE n.state = 'ready'
       AND NOT EXISTS (SELECT 1 FROM naive o WHERE o.state = 'leased' AND o.span && n.span)
     ORDER BY n.id LIMIT 1 FOR UPDATE SKIP LOCKED)
RETURNING id, pattern
"""


@pytest.mark.req("D17")
def test_the_naive_sql_shows_overlaps_as_control() -> None:
    """SKIP LOCKED and NOT EXISTS, without lock and constraint: two claims don't see each other."""
    with fresh_database() as url:
        setup = Database(url)
        setup.run(
            lambda c: c.execute("CREATE TABLE naive (id int PRIMARY KEY, state text, pattern text, span scope_span)")
        )

        def one(db: Database) -> tuple[str, Scope, Callable[[], None]] | None:
            row = db.run(lambda c: c.execute(NAIVE).fetchone())
            if row is None:
                return None
            gone = (row["id"],)
            name = f"{row['id']}-{uuid4()}"
            return name, parse_scope([row["pattern"]]), lambda: free(db, gone)

        def free(db: Database, gone: tuple[int]) -> None:
            db.run(lambda c: c.execute("UPDATE naive SET state = 'done' WHERE id = %s", gone))

        found: list[tuple[str, str]] = []
        for _ in range(5):
            setup.run(fill_naive)
            crowd = Crowd(url, one, 60)
            crowd.run()
            found += crowd.overlaps()
            if found:
                break
        setup.close()
    assert found


def fill_naive(c: Connection) -> None:
    c.execute("TRUNCATE naive")
    for n in range(60):
        pattern = POOL[n % 2]
        [span] = parse_scope([pattern]).spans("1/1")
        c.execute("INSERT INTO naive VALUES (%s, 'ready', %s, %s::scope_span)", (n, pattern, span.literal()))
