"""A state machine: everything that may happen to the queue, in any order, against a simple model.

After each step the rows keep every rule of `lane.RULES`; at the end of each example what can move is driven on and
must come to an end: no wake-up was lost.
"""

from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import Phase as Stage
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from damascus.domain.errors import Fenced
from damascus.domain.feedback import VerdictFeedback
from damascus.domain.item import Item
from damascus.domain.outcome import Advance, GivenBack, Landed, NeedsPerson, Outcome, Rejected, Transient, Wait
from damascus.domain.scope import Scope, parse_scope
from damascus.domain.verdict import Phase, Verdict
from damascus.store import journal, leases, people
from damascus.store.db import Connection, Database
from tests.store.lane import LEASE, RULES, Lane

PATTERNS = ("a.py", "b.py", "src/", "src/x.py", "src/y*", "docs/**/z.md")
TABLES = (
    "leases, active_scopes, scope_barriers, queues, queue_entries, journal, events_outbox, human_issues, "
    "worker_records, repo_holds"
)
STAGES = [Stage.explicit, Stage.generate]
"""Without shrinking, which takes minutes here: read the printed steps, or run it with Stage.shrink by hand."""
OUTCOMES: dict[str, Outcome] = {
    "advance": Advance(Phase.REVIEW, {"pr_url": "local#1"}),
    "landed": Landed("c" * 40, "reachable", {"pr_url": "local#1"}),
    "rejected": Rejected(Verdict.TESTS_FAILED, VerdictFeedback(failing_tests=["t"])),
    "another": Rejected(Verdict.NO_PR, VerdictFeedback()),
    "transient": Transient("connection refused"),
    "ci": Wait("ci", "sha", timedelta(hours=1)),
    "question": NeedsPerson(None, "which?", ("a", "b"), VerdictFeedback()),
    "given back": GivenBack(),
}
ALL_RULES = " UNION ALL ".join(
    f"SELECT '{name}' AS rule, to_jsonb(t) AS row FROM ({text}) t" for name, text in RULES.items()
)


@dataclass
class Story:
    """What the model knows. status: open (ready, or parked by others), timed, landing, leased, resting."""

    scope: Scope
    deps: frozenset[str]
    phase: str = "build"
    status: str = "open"
    attempts: int = 0
    fence: int = 0
    holds: bool = False
    due: bool = False
    aged: bool = False
    item: Item | None = None
    old: list[Item] = field(default_factory=list)

    def rests(self, phase: str) -> None:
        self.phase, self.status, self.holds, self.item, self.due, self.aged = (
            phase,
            "resting",
            False,
            None,
            False,
            False,
        )


class Queue(RuleBasedStateMachine):
    def __init__(self, db: Database) -> None:
        super().__init__()
        self.db = db
        db.run(lambda c: c.execute(f"TRUNCATE {TABLES}, work_items, repos, projects CASCADE".encode()))
        self.lane = Lane(db)
        self.stories: dict[str, Story] = {}
        self.held = False
        self.lander: str | None = None
        self.names = iter(f"S{n}" for n in range(1000))

    # ── small words ───────────────────────────────────────────────────────────────────────────────────

    def some(self, data: st.DataObject, *statuses: str) -> str:
        return data.draw(st.sampled_from([n for n, s in self.stories.items() if s.status in statuses]))

    def any(self, *statuses: str) -> bool:
        return any(s.status in statuses for s in self.stories.values())

    def told(self) -> list[str]:
        """Events since the last look."""
        rows = self.lane.query("DELETE FROM events_outbox RETURNING kind, id")
        return [row["kind"] for row in sorted(rows, key=lambda row: row["id"])]

    def startable(self, name: str) -> bool:
        me = self.stories[name]
        if self.held or not (me.status == "open" or me.due) or any(self.stories[d].phase != "done" for d in me.deps):
            return False
        others = [s for n, s in self.stories.items() if n != name]
        return me.holds or not any(me.scope.overlaps(s.scope) for s in others if s.holds)

    def reserved(self, name: str) -> bool:
        """May an overdue story have reserved what this one wants?"""
        me = self.stories[name]
        return any(
            s.aged and s.status == "open" and s is not me and s.scope.overlaps(me.scope) for s in self.stories.values()
        )

    def landing_freed(self, name: str) -> None:
        """Whoever was in the queue left it: the first who waited for its place is open."""
        if self.lander != name:
            return
        self.lander = None
        assert self.lane.line().entries == []
        waiting = [n for n, s in self.stories.items() if s.status == "landing" and n != name]
        rows = self.lane.query("SELECT story_id FROM work_items WHERE state = 'ready' AND story_id = ANY (%s)", waiting)
        assert len(rows) == min(len(waiting), 1), "one place became free"
        for row in rows:
            self.stories[row["story_id"]].status = "open"

    # ── people ────────────────────────────────────────────────────────────────────────────────────────

    @initialize(data=st.data())
    def begin(self, data: st.DataObject) -> None:
        for _ in range(3):
            self.add(data)

    @precondition(lambda self: len(self.stories) < 9)
    @rule(data=st.data())
    def add(self, data: st.DataObject) -> None:
        name = next(self.names)
        patterns = data.draw(st.lists(st.sampled_from(PATTERNS), min_size=1, max_size=2, unique=True))
        deps = (
            data.draw(st.lists(st.sampled_from(sorted(self.stories)), max_size=2, unique=True)) if self.stories else []
        )
        self.lane.add(name, scope=patterns, depends_on=deps, priority=data.draw(st.integers(0, 3)))
        self.stories[name] = Story(parse_scope(patterns), frozenset(deps))
        assert self.told() == ["story.added"]

    @precondition(lambda self: any(s.phase in ("blocked", "cancelled") for s in self.stories.values()))
    @rule(data=st.data(), pattern=st.sampled_from(PATTERNS))
    def add_again(self, data: st.DataObject, pattern: str) -> None:
        name = data.draw(st.sampled_from([n for n, s in self.stories.items() if s.phase in ("blocked", "cancelled")]))
        self.lane.add(name, scope=[pattern])
        old = self.stories[name]
        self.stories[name] = Story(parse_scope([pattern]), frozenset(), fence=old.fence, old=old.old)
        assert self.told() == ["story.replaced"]

    @precondition(lambda self: any(s.phase not in ("done", "cancelled") for s in self.stories.values()))
    @rule(data=st.data(), command=st.sampled_from(["cancel", "retry", "answer", "look again"]))
    def command(self, data: st.DataObject, command: str) -> None:
        name = data.draw(st.sampled_from([n for n, s in self.stories.items() if s.phase not in ("done", "cancelled")]))
        me, project = self.stories[name], self.lane.project.id
        if me.item is not None:
            me.old.append(me.item)
        if command == "cancel":
            people.cancel(self.db, project, name)
            me.rests("cancelled")
            expected = ["story.cancelled", "phase.transitioned"]
        elif command == "look again" and me.phase == "blocked":
            people.look_again(self.db, project, name)
            me.phase, me.status, me.item, me.due, me.aged = "build", "open", None, False, False
            expected = ["story.resumed", "phase.transitioned"]
        else:
            self.answer(name) if command == "answer" and me.phase == "blocked" else people.retry(self.db, project, name)
            me.phase, me.status, me.item, me.due, me.attempts, me.aged = "build", "open", None, False, 0, False
            expected = ["story.retried", "phase.transitioned"]
        self.landing_freed(name)
        assert [kind for kind in self.told() if kind != "issue.answered"] == expected

    def answer(self, name: str) -> None:
        [open_issue] = self.lane.query(
            "SELECT h.id FROM human_issues h JOIN work_items i ON i.id = h.item_id"
            " WHERE i.story_id = %s AND closed_at IS NULL",
            name,
        )  # fmt: skip
        issue = people.open_question(self.db, self.lane.project.id, open_issue["id"])
        text = issue["options"][0]
        people.retry(self.db, self.lane.project.id, name, text)
        people.close(self.db, self.lane.project.id, issue, text)

    @rule()
    def hold_or_release(self) -> None:
        act = people.release_hold if self.held else people.hold
        act(self.db, self.lane.project.id, self.lane.project.repo_id, *([] if self.held else ["why"]))
        self.held = not self.held
        for me in self.stories.values():
            if self.held and me.item is not None:
                me.old.append(me.item)
                me.item, me.status = None, "open"
        assert self.told() == ["repo.held" if self.held else "repo.released"]

    # ── time ──────────────────────────────────────────────────────────────────────────────────────────

    @precondition(lambda self: self.any("timed"))
    @rule()
    def waits_are_over(self) -> None:
        self.lane.execute("UPDATE work_items SET not_before = now() - interval '1 s' WHERE not_before IS NOT NULL")
        for me in self.stories.values():
            me.due = me.status == "timed"

    @precondition(lambda self: any(s.status == "open" and not s.aged for s in self.stories.values()))
    @rule(data=st.data())
    def grows_old(self, data: st.DataObject) -> None:
        name = data.draw(st.sampled_from([n for n, s in self.stories.items() if s.status == "open" and not s.aged]))
        self.lane.execute("UPDATE work_items SET deadline_at = now() - interval '10 hours' WHERE story_id = %s", name)
        self.stories[name].aged = True

    # ── workers ───────────────────────────────────────────────────────────────────────────────────────

    @rule(count=st.integers(1, 3), worker=st.sampled_from(["w1", "w2"]))
    def claim(self, count: int, worker: str) -> None:
        claimed = self.lane.claim(count, worker)
        for item in claimed:
            name, me = item.story_id, self.stories[item.story_id]
            assert self.startable(name), f"{name} could not start"
            assert item.fence > me.fence
            me.status, me.item, me.holds, me.due, me.fence, me.aged = "leased", item, True, False, item.fence, False
        for me in self.stories.values():
            if me.due:
                me.status, me.due = "open", False
        if len(claimed) < count:
            assert [n for n in self.stories if self.startable(n) and not self.reserved(n)] == []
            assert self.lane.query("SELECT story_id FROM work_items WHERE state = 'ready'") == []
        assert self.told() == ["item.claimed"] * len(claimed)

    @precondition(lambda self: self.any("leased"))
    @rule(data=st.data(), how=st.sampled_from(sorted(OUTCOMES)))
    def settle(self, data: st.DataObject, how: str) -> None:
        name = self.some(data, "leased")
        me, outcome = self.stories[name], OUTCOMES[how]
        assert me.item is not None
        keep = how == "advance" and data.draw(st.booleans())
        if not keep:
            me.old.append(me.item)
        after = self.lane.settle(me.item, outcome, keep=keep)
        self.follow(name, how, after, keep)
        if how not in ("advance", "ci"):
            self.landing_freed(name)
        assert self.told()

    def follow(self, name: str, how: str, after: Item, keep: bool) -> None:
        me = self.stories[name]
        me.attempts += how in ("rejected", "another")
        assert (after.attempts, after.fence) == (me.attempts, me.fence)
        me.item = after if keep else None
        if after.phase in (Phase.DONE, Phase.BLOCKED):
            me.rests(after.phase.value)
        else:
            me.phase = after.phase.value
            me.status = "leased" if keep else "timed" if how in ("transient", "ci") else "open"

    @precondition(lambda self: self.any("leased"))
    @rule(data=st.data())
    def want_to_land(self, data: st.DataObject) -> None:
        name = self.some(data, "leased")
        me = self.stories[name]
        assert me.item is not None
        answer = self.lane.put(me.item)
        assert answer == ("in" if self.lander in (None, name) else "full")
        if answer == "in":
            self.lander = name
            return
        me.old.append(me.item)
        self.lane.wait_to_land(me.item, self.lane.line().version)
        me.item, me.status = None, "landing"
        assert self.told() == ["item.waits"]

    @precondition(lambda self: self.any("leased"))
    @rule(expired=st.booleans())
    def heartbeat(self, expired: bool) -> None:
        held = {s.item.id: s.item.fence for s in self.stories.values() if s.item is not None}
        old = {item.id: item.fence for s in self.stories.values() for item in s.old if item.id not in held}
        if expired:
            self.lane.execute("UPDATE leases SET expires_at = now() - interval '1 h'")
        assert leases.heartbeat(self.db, {**old, **held}, LEASE) == set(held)

    @precondition(lambda self: self.any("leased"))
    @rule(data=st.data())
    def dies_and_is_rescued(self, data: st.DataObject) -> None:
        name = self.some(data, "leased")
        me = self.stories[name]
        assert me.item is not None
        me.old.append(me.item)
        self.lane.expire(me.item)
        [became] = self.lane.rescue()
        me.item, me.status, me.fence = None, "open", me.fence + 1
        if became == "blocked":
            me.rests("blocked")
            self.landing_freed(name)
        assert self.told()[0] == "item.rescued"

    @precondition(lambda self: any(s.old for s in self.stories.values()))
    @rule(data=st.data(), how=st.sampled_from([*sorted(OUTCOMES), "land", "journal"]))
    def zombie(self, data: st.DataObject, how: str) -> None:
        me = data.draw(st.sampled_from([s for s in self.stories.values() if s.old]))
        ghost = data.draw(st.sampled_from(me.old))
        before = self.everything()
        with pytest.raises(Fenced):
            if how == "land":
                self.lane.put(ghost)
            elif how == "journal":
                self.db.run(lambda c: self.write_journal(c, ghost))
            else:
                self.lane.settle(ghost, OUTCOMES[how])
        assert self.everything() == before

    def write_journal(self, c: Connection, ghost: Item) -> None:
        leases.assert_fence(c, ghost.id, ghost.fence)
        journal.write_intent(c, ghost, "push", "", {})

    def everything(self) -> list[dict[str, Any]]:
        names = ["work_items", *TABLES.split(", ")]
        text = " UNION ALL ".join(f"SELECT '{name}' AS of, to_jsonb(t) AS row FROM {name} t" for name in names)
        return sorted(self.lane.query(text), key=repr)

    # ── what is always true ───────────────────────────────────────────────────────────────────────────

    @invariant()
    def the_rows_keep_the_rules(self) -> None:
        assert self.lane.query(ALL_RULES) == []

    @invariant()
    def the_rows_are_what_the_model_says(self) -> None:
        words = {"leased": "leased", "resting": "resting", "timed": "timed", "landing": "landing"}
        for row in self.lane.query("SELECT story_id, phase, state, fence, attempts, wait_kind FROM work_items"):
            me = self.stories[row["story_id"]]
            kind = row["wait_kind"]
            status = (
                "timed"
                if kind in ("ci", "backoff")
                else "landing"
                if kind == "landing"
                else words.get(row["state"], "open")
            )
            assert (status, row["phase"], row["attempts"]) == (me.status, me.phase, me.attempts), row["story_id"]
            assert row["fence"] >= me.fence
            me.fence = row["fence"]

    def ends(self, working: list[Item]) -> None:
        """Through the queue, as in the engine: who is woken for a place and never takes it wakes nobody else."""
        for item in working:
            if self.lane.put(item) == "in":
                self.lane.land(item)
            else:
                self.lane.wait_to_land(item, self.lane.line().version)

    def teardown(self) -> None:
        """Everything that needs no person comes to an end."""
        if not self.stories:
            return
        if self.held:
            people.release_hold(self.db, self.lane.project.id, self.lane.project.repo_id)
        working = [s.item for s in self.stories.values() if s.item is not None]
        while working:
            self.ends(working)
            self.lane.execute("UPDATE work_items SET not_before = now() - interval '1 s' WHERE not_before IS NOT NULL")
            working = self.lane.claim(20)
        self.lane.execute("UPDATE work_items SET not_before = now() - interval '1 s' WHERE not_before IS NOT NULL")
        while working := self.lane.claim(20):
            self.ends(working)
        stuck = {
            name: state for name, state in self.lane.states().items() if state not in ("done", "blocked", "cancelled")
        }
        for name, state in stuck.items():
            assert state == "dependency" and self.stories[name].deps, f"{name} is left over: {stuck}"
        assert self.lane.violations() == []


@pytest.mark.req("D17", "D20", "D11")
def test_whatever_happens_the_queue_keeps_its_promises(db: Database) -> None:
    checks = list(HealthCheck)
    bounds = settings(
        max_examples=60, stateful_step_count=40, phases=STAGES, deadline=None, suppress_health_check=checks
    )
    run_state_machine_as_test(lambda: Queue(db), settings=bounds)
