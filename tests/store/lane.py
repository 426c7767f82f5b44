"""A queue without git or workers: stories with scopes, claims, settles, and what must always be true of the rows."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any
from uuid import uuid4

from damascus.domain import policy
from damascus.domain.ids import Sha
from damascus.domain.item import Item
from damascus.domain.merge_queue import EntryState, QueueEntry, nearest
from damascus.domain.outcome import Advance, Landed, Outcome, Wait
from damascus.domain.scope import parse_scope
from damascus.domain.spec import parse_spec
from damascus.domain.verdict import Phase
from damascus.store import leases, merge_queue, projects, queueing, rows, settle
from damascus.store.db import Connection, Database, database_clock
from tests.yard import story

LEASE = timedelta(seconds=60)


class Lane:
    """One project in one database."""

    def __init__(self, db: Database, project: projects.ProjectRow | None = None) -> None:
        self.db = db
        self.project = project or projects.register(
            db, uuid4(), "shop", f"/nowhere/{uuid4()}", ("main", "a" * 40), repo=uuid4()
        )

    def beside(self, name: str) -> "Lane":
        """A further repository of the same project."""
        main = ("main", "a" * 40)
        row = projects.register(self.db, self.project.uuid, name, f"/nowhere/{uuid4()}", main, repo=uuid4())
        return Lane(self.db, row)

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

    def line(self) -> merge_queue.Line:
        return merge_queue.look(self.db, self.project.repo_id, "main")

    def put(self, item: Item, base: str = "", *, state: EntryState = "testing", most: int = 1) -> str:
        """Into the queue on top of `base` (the last one ahead), with a commit named after the story."""
        ahead = nearest(self.line().ahead(item.id))
        on = Sha(base or (ahead.commit if ahead else "main"))
        entry = QueueEntry(item.id, on, Sha(f"{item.story_id} on {on}"), state)

        def work(c: Connection) -> str:
            leases.assert_fence(c, item.id, item.fence)
            return merge_queue.put(c, (item.repo_id, "main"), entry, most)

        return self.db.run(work)

    def wait_to_land(self, item: Item, version: int | None) -> None:
        self.settle(item, Wait("landing", f"{item.repo_id} main", version=version))

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
        SELECT i.story_id FROM work_items i WHERE i.wait_kind = 'landing' AND NOT EXISTS (
            SELECT 1 FROM queue_entries e WHERE e.repo_id || ' ' || e.target = i.wait_key AND e.item_id <> i.id)""",
    "who waits for a hold to end is held": """
        SELECT i.story_id FROM work_items i WHERE i.wait_kind = 'hold'
           AND NOT EXISTS (SELECT 1 FROM repo_holds h WHERE h.repo_id::text = i.wait_key AND h.released_at IS NULL)""",
    "two repositories of one chain are never worked at once": """
        SELECT a.story_id, b.story_id AS other FROM work_items a
          JOIN work_items b ON b.state = 'leased' AND b.phase <> 'spec'
         WHERE a.state = 'leased' AND a.phase <> 'spec'
           AND b.repo_id IN (SELECT c.repo_id FROM chain_of(a.repo_id) c)""",
    "who waits for its chain is kept out by the one it waits for": """
        SELECT i.story_id, b.story_id AS blocker, b.state FROM work_items i JOIN work_items b ON b.id::text = i.wait_key
         WHERE i.wait_kind = 'chain' AND NOT (b.state = 'ready' OR b.wait_kind IS NOT DISTINCT FROM 'chain' OR EXISTS (
                   SELECT 1 FROM active_scopes a JOIN chain_of(i.repo_id) c ON c.repo_id = b.repo_id
                    WHERE a.item_id = b.id))""",
    "who waits for a place finds none": """
        SELECT i.story_id FROM work_items i JOIN repos r ON r.id = i.repo_id WHERE i.wait_kind = 'repo_full'
           AND (SELECT count(*) FROM repo_locks l WHERE l.repo_id = r.id AND l.works) < r.max_workers
           AND NOT EXISTS (SELECT 1 FROM work_items o WHERE o.repo_id = r.id AND o.state = 'ready')""",
    "who waits for an upstream repository has one that is not green": """
        SELECT i.story_id FROM work_items i JOIN repos u ON u.id::text = i.wait_key
         WHERE i.wait_kind = 'upstream'
           AND NOT (u.ci_state IS NOT DISTINCT FROM 'pending' OR u.red_since IS NOT NULL)""",
    "who works in a repository holds its files there": """
        SELECT l.item_id FROM repo_locks l JOIN work_items i ON i.id = l.item_id
         WHERE l.works AND (l.repo_id <> i.repo_id
                            OR NOT EXISTS (SELECT 1 FROM active_scopes a WHERE a.item_id = i.id))""",
    "who waits for time has a wake-up": """
        SELECT story_id FROM work_items WHERE wait_kind IN ('backoff', 'ci', 'dirty') AND not_before IS NULL""",
    "no story that rests lands or keeps a barrier": """
        SELECT i.story_id FROM work_items i WHERE i.state = 'resting' AND (
               EXISTS (SELECT 1 FROM queue_entries e WHERE e.item_id = i.id)
            OR i.phase <> 'stale' AND EXISTS (SELECT 1 FROM scope_barriers b WHERE b.item_id = i.id)
            OR EXISTS (SELECT 1 FROM worker_records w WHERE w.item_id = i.id))""",
    "a stale story keeps its files from who has not begun": """
        SELECT i.story_id FROM work_items i WHERE i.phase = 'stale'
           AND i.spans <> ARRAY (SELECT b.span FROM scope_barriers b WHERE b.item_id = i.id
                                    AND b.deadline_at = '-infinity' ORDER BY array_position(i.spans, b.span))""",
    "a blocked or stale story asks, a done or cancelled one does not": """
        SELECT i.story_id, i.phase FROM work_items i WHERE i.phase IN ('blocked', 'stale', 'done', 'cancelled')
           AND (i.phase IN ('blocked', 'stale')) <> EXISTS (
               SELECT 1 FROM human_issues h WHERE h.item_id = i.id AND h.closed_at IS NULL)""",
}  # fmt: skip
"""Each query finds what breaks its rule."""
