"""A queue without git or workers: stories with scopes, claims, settles, and what must always be true of the rows."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any
from uuid import uuid4

from damascus.domain import policy
from damascus.domain.item import Item
from damascus.domain.outcome import Advance, Landed, Outcome
from damascus.domain.scope import parse_scope
from damascus.domain.spec import parse_spec
from damascus.domain.verdict import Phase
from damascus.store import leases, projects, queueing, rows, settle
from damascus.store.db import Connection, Database, database_clock, sql
from tests.yard import story

LEASE = timedelta(seconds=60)


class Lane:
    """One project in one database."""

    def __init__(self, db: Database) -> None:
        self.db = db
        self.project = projects.register(db, uuid4(), "shop", f"/nowhere/{uuid4()}", ("main", "a" * 40))

    # ── stories ───────────────────────────────────────────────────────────────────────────────────────

    def add(self, *names: str, scope: Sequence[str] = (), **front: Any) -> None:
        texts = [story(name, scope=list(scope) or [f"{name}.py"], **front) for name in names]
        specs = [(parse_spec(text.encode()), text.encode()) for text in texts]
        queueing.add(
            self.db, self.project, [queueing.NewStory(s, raw, f"{s.story}.md") for s, raw in specs], "feat/", 5
        )

    def bulk(self, prefix: str, count: int, pattern: str, *, deadline: str = "now()") -> None:
        """Many ready stories with one scope, written as rows."""
        literals = [s.literal() for s in parse_scope([pattern]).spans(f"{self.project.id}/{self.project.repo_id}")]
        self.execute(
            "INSERT INTO work_items (project_id, project, repo_id, story_id, title, phase, state, file_scope, spans,"
            " spec, spec_hash, spec_path, branch, deadline_at)"
            " SELECT %s, 'shop', %s, %s || n, 'bulk', 'build', 'ready', %s,"
            f" %s::scope_span[], '', '', '', 'feat/' || n, {deadline} + n * interval '1 ms'"
            " FROM generate_series(1, %s) n",
            self.project.id, self.project.repo_id, prefix, [pattern], literals, count,
        )  # fmt: skip

    # ── workers ───────────────────────────────────────────────────────────────────────────────────────

    def claim(self, count: int = 1, worker: str = "w1") -> list[Item]:
        return leases.claim(self.db, self.project.id, worker, count, LEASE)

    def claim_one(self, worker: str = "w1") -> Item:
        [item] = self.claim(1, worker)
        return item

    def settle(self, item: Item, outcome: Outcome, *, keep: bool = False) -> Item:
        to = policy.decide(item, outcome, database_clock(self.db))
        following = settle.settle(self.db, item, to, keep=keep)
        [row] = self.db.all("items_by_id", ids=[item.id])
        return following or rows.item(row)

    def land(self, item: Item) -> None:
        self.settle(item, Landed("c" * 40, "reachable", {"pr_url": "local#1"}))

    def review(self, item: Item, *, keep: bool = True) -> Item:
        return self.settle(item, Advance(Phase.REVIEW, {"pr_url": "local#1"}), keep=keep)

    def take_landing(self, item: Item) -> bool:
        params = {"repo": item.repo_id, "target": "main", "item": item.id}

        def work(c: Connection) -> bool:
            leases.assert_fence(c, item.id, item.fence)
            row = c.execute(sql("take_landing"), params).fetchone()
            return bool(row and row["taken"])

        return self.db.run(work)

    def expire(self, *items: Item) -> None:
        ids = [item.id for item in items]
        self.execute("UPDATE leases SET expires_at = now() - interval '1 hour' WHERE item_id = ANY (%s)", ids)

    def rescue(self) -> list[str]:
        """As a rescuer does that trusts the clock: each expired lease."""
        found = [lease for lease in leases.current(self.db, timedelta(0)) if lease.expired]
        return [became for lease in found if (became := leases.rescue(self.db, lease, "its lease ran out"))]

    # ── looking ───────────────────────────────────────────────────────────────────────────────────────

    def execute(self, text: str, *params: Any) -> None:
        self.db.run(lambda c: c.execute(text.encode(), params or None))

    def query(self, text: str, *params: Any) -> list[dict[str, Any]]:
        return self.db.run(lambda c: c.execute(text.encode(), params or None).fetchall())

    def row(self, name: str) -> dict[str, Any]:
        [row] = self.query("SELECT * FROM work_items WHERE story_id = %s", name)
        return row

    def states(self) -> dict[str, str]:
        rows = self.query("SELECT story_id, phase, state, wait_kind FROM work_items ORDER BY id")
        return {r["story_id"]: r["wait_kind"] or (r["phase"] if r["state"] == "resting" else r["state"]) for r in rows}

    def events(self, name: str | None = None) -> list[str]:
        rows = self.query(
            "SELECT e.kind FROM events_outbox e LEFT JOIN work_items i ON i.id = e.item_id"
            " WHERE %s::text IS NULL OR i.story_id = %s ORDER BY e.id", name, name,
        )  # fmt: skip
        return [row["kind"] for row in rows]

    def violations(self) -> list[str]:
        """What is false of the rows, each as a sentence; empty if all is well."""
        return [f"{rule}: {row}" for rule, text in RULES.items() for row in self.query(text)]


def waits_for_a_lock(c: Connection) -> bool:
    """Does another session of this database wait for a lock?"""
    c.execute("SELECT pg_stat_clear_snapshot()")
    waiting = "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
    return c.execute(waiting).fetchone() is not None


def item_of(lane: Lane, name: str) -> Item:
    """The item as a worker that holds it has it."""
    [row] = lane.db.all("items_by_id", ids=[lane.row(name)["id"]])
    return rows.item(row)


RULES = {
    "leased means a lease with the same fence": """
        SELECT i.story_id, i.state, i.fence, l.fence AS lease FROM work_items i LEFT JOIN leases l ON l.item_id = i.id
         WHERE (i.state = 'leased') <> (l.fence IS NOT NULL AND l.fence = i.fence)""",
    "active scopes never overlap": """
        SELECT a.item_id, b.item_id AS other FROM active_scopes a JOIN active_scopes b ON a.span && b.span
         WHERE a.ctid < b.ctid""",
    "only a story in flight holds a scope, and it holds its own": """
        SELECT i.story_id, i.state, i.claims FROM work_items i
          JOIN (SELECT item_id, array_agg(span ORDER BY span) AS held FROM active_scopes GROUP BY 1) a
            ON a.item_id = i.id
         WHERE i.state = 'resting' OR i.claims = 0 OR held <> ARRAY(SELECT s FROM unnest(i.spans) s ORDER BY s)""",
    "a leased story holds its scope": """
        SELECT i.story_id FROM work_items i WHERE i.state = 'leased' AND i.phase <> 'spec'
           AND NOT EXISTS (SELECT 1 FROM active_scopes a WHERE a.item_id = i.id)""",
    "who waits for a scope is kept from it by the one it waits for": """
        SELECT i.story_id, i.wait_key FROM work_items i WHERE i.wait_kind = 'scope'
           AND NOT EXISTS (SELECT 1 FROM unnest(i.spans) s JOIN active_scopes a ON a.span && s
                            WHERE a.item_id::text = i.wait_key)
           AND NOT EXISTS (SELECT 1 FROM unnest(i.spans) s JOIN scope_barriers b ON b.span && s
                            WHERE b.item_id::text = i.wait_key)""",
    "who stands behind has somebody of the same scope before it that moves": """
        SELECT i.story_id, i.wait_key FROM work_items i WHERE i.wait_kind = 'behind'
           AND NOT EXISTS (SELECT 1 FROM work_items o WHERE o.spans = i.spans AND o.id <> i.id
                              AND (o.state IN ('ready', 'leased') OR o.wait_kind = 'scope'
                                   OR o.state = 'waiting' AND EXISTS (
                                       SELECT 1 FROM active_scopes a WHERE a.item_id = o.id)))""",
    "who waits for a dependency has one that is not done": """
        SELECT i.story_id FROM work_items i JOIN work_items d ON d.id::text = i.wait_key
         WHERE i.wait_kind = 'dependency' AND (d.phase = 'done' OR NOT d.id = ANY (i.depends_on))""",
    "who waits to land has somebody landing before it": """
        SELECT i.story_id, l.item_id FROM work_items i LEFT JOIN landings l ON l.repo_id || ' ' || l.target = i.wait_key
         WHERE i.wait_kind = 'landing' AND (l.item_id IS NULL OR l.item_id = i.id)""",
    "who waits for a hold to end is held": """
        SELECT i.story_id FROM work_items i WHERE i.wait_kind = 'hold'
           AND NOT EXISTS (SELECT 1 FROM repo_holds h WHERE h.repo_id::text = i.wait_key AND h.released_at IS NULL)""",
    "who waits for time has a wake-up": """
        SELECT story_id FROM work_items WHERE wait_kind IN ('backoff', 'ci', 'dirty') AND not_before IS NULL""",
    "no story that rests lands or keeps a barrier": """
        SELECT i.story_id FROM work_items i WHERE i.state = 'resting' AND (
               EXISTS (SELECT 1 FROM landings l WHERE l.item_id = i.id)
            OR EXISTS (SELECT 1 FROM scope_barriers b WHERE b.item_id = i.id)
            OR EXISTS (SELECT 1 FROM worker_records w WHERE w.item_id = i.id))""",
    "a blocked story asks, a done or cancelled one does not": """
        SELECT i.story_id, i.phase FROM work_items i WHERE i.phase IN ('blocked', 'done', 'cancelled')
           AND (i.phase = 'blocked') <> EXISTS (
               SELECT 1 FROM human_issues h WHERE h.item_id = i.id AND h.closed_at IS NULL)""",
}  # fmt: skip
"""Each query finds what breaks its rule."""
