"""A state machine over change, undo, approve, claim, settle, kill, retry, cancel and add: a STALE story is never worked
without a person's approval, whatever happens in which order."""

from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import Phase as Stage
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from damascus.domain.errors import DamascusError, Fenced
from damascus.domain.feedback import VerdictFeedback
from damascus.domain.item import Item
from damascus.domain.outcome import Advance, GivenBack, Landed, NeedsPerson, Outcome, Rejected
from damascus.domain.verdict import Phase, Verdict
from damascus.store import people, stale
from damascus.store.db import Connection, Database
from damascus.store.stale import Invalidation
from tests.store.lane import RULES, Lane

TABLES = (
    "leases, active_scopes, scope_barriers, queues, queue_entries, journal, events_outbox, human_issues, "
    "worker_records, repo_holds"
)
OUTCOMES: dict[str, Outcome] = {
    "build": Advance(Phase.BUILD),
    "landed": Landed("c" * 40, "reachable", {"pr_url": "local#1"}),
    "rejected": Rejected(Verdict.TESTS_FAILED, VerdictFeedback(failing_tests=["t"])),
    "question": NeedsPerson(None, "which?", ("a", "b"), VerdictFeedback()),
    "given back": GivenBack(),
}
NAMES = ("A", "B", "C", "D")
SCOPES = {"A": ["a.py"], "B": ["b.py"], "C": ["a.py"], "D": ["a.py", "d.py"]}
HAS_CHANGE = """
    SELECT story_id, phase, change FROM work_items
     WHERE (phase = 'stale') <> (change IS NOT NULL AND NOT change ? 'approved_by') AND phase <> 'cancelled'"""
"""A change that nobody has approved is exactly what makes a story stale; a cancelled one keeps what was said of it."""
ALL_RULES = " UNION ALL ".join(f"SELECT '{name}' AS rule, to_jsonb(t) AS row FROM ({q}) t" for name, q in RULES.items())


class Killed(Exception):
    """The process died before its transaction ended."""


class Changes(RuleBasedStateMachine):
    def __init__(self, db: Database) -> None:
        super().__init__()
        db.run(lambda c: c.execute(f"TRUNCATE {TABLES}, work_items, repos, projects CASCADE".encode()))
        self.db, self.lane = db, Lane(db)
        self.stale: set[str] = set()
        self.held: dict[str, Item] = {}

    @initialize()
    def begin(self) -> None:
        for name in NAMES:
            self.lane.add(name, scope=SCOPES[name], depends_on=["A"] if name == "B" else [])
        item = self.lane.claim_one()
        self.lane.land(item)

    def tried(self, act: Any, *, dies: bool = False) -> bool:
        """True: it was done. A refusal is a sentence, a kill leaves nothing."""
        if not dies:
            try:
                act(self.db)
            except (DamascusError, Fenced):
                return False
            return True
        killed = type("Dying", (), {"run": staticmethod(lambda work, **_: self.db.run(lambda c: _dies(c, work)))})()
        with pytest.raises((Killed, DamascusError)):
            act(killed)
        return False

    @rule(name=st.sampled_from(NAMES), halts=st.booleans(), dies=st.booleans())
    def change(self, name: str, halts: bool, dies: bool) -> None:
        made = Invalidation("why", "Ada", ("tests/test_a.py",), halts=halts)
        if self.tried(lambda db: stale.mark_changed(db, self.lane.project.id, [name], lambda _: made), dies=dies):
            self.stale.add(name)

    @rule(name=st.sampled_from(NAMES), dies=st.booleans())
    def undo(self, name: str, dies: bool) -> None:
        done = self.tried(lambda db: stale.undo(db, self.lane.project.id, name, "Ada"), dies=dies)
        assert dies or done == (name in self.stale)
        if done:
            self.stale.discard(name)

    @rule(name=st.sampled_from(NAMES), dies=st.booleans())
    def approve(self, name: str, dies: bool) -> None:
        done = self.tried(lambda db: stale.approve(db, self.lane.project, name, "Ada"), dies=dies)
        assert dies or done == (name in self.stale)
        if done:
            self.stale.discard(name)

    @rule(name=st.sampled_from(NAMES))
    def cancel(self, name: str) -> None:
        if self.tried(lambda db: people.cancel(db, self.lane.project.id, name)):
            self.stale.discard(name)

    @rule(name=st.sampled_from(NAMES))
    def retry(self, name: str) -> None:
        done = self.tried(lambda db: people.retry(db, self.lane.project.id, name))
        assert not (done and name in self.stale)

    @rule(name=st.sampled_from(NAMES))
    def add(self, name: str) -> None:
        done = self.tried(lambda _: self.lane.add(name, scope=SCOPES[name], title="anew"))
        assert not (done and name in self.stale and self.lane.row(name)["phase"] != "stale")

    @rule(count=st.integers(1, 4))
    def claim(self, count: int) -> None:
        for item in self.lane.claim(count):
            assert item.story_id not in self.stale
            self.held[item.story_id] = item

    @rule(name=st.sampled_from(NAMES), outcome=st.sampled_from(sorted(OUTCOMES)))
    def settle(self, name: str, outcome: str) -> None:
        if (item := self.held.pop(name, None)) is not None:
            self.tried(lambda _: self.lane.settle(item, OUTCOMES[outcome]))

    @rule()
    def kill(self) -> None:
        """The worker is gone; a rescuer takes what it had."""
        self.lane.execute("UPDATE leases SET expires_at = now() - interval '1 hour'")
        self.lane.rescue()

    @invariant()
    def a_stale_story_rests_with_its_change_and_nobody_has_it(self) -> None:
        found = self.lane.query("SELECT story_id FROM work_items WHERE phase = 'stale' AND state = 'resting'")
        assert {row["story_id"] for row in found} == self.stale
        leased = self.lane.query("SELECT 1 FROM leases l JOIN work_items i ON i.id = l.item_id WHERE i.phase = 'stale'")
        assert leased == [] and self.lane.query(HAS_CHANGE) == []

    @invariant()
    def every_rule_of_the_queue_holds(self) -> None:
        assert self.lane.query(ALL_RULES) == []

    @invariant()
    def all_stops_only_while_a_story_is_stale(self) -> None:
        held = self.lane.query("SELECT 1 FROM repo_holds WHERE halt = 'stale' AND released_at IS NULL")
        assert not held or self.stale


def _dies(c: Connection, work: Any) -> None:
    work(c)
    raise Killed


@pytest.mark.req("A3.4")
def test_a_stale_story_is_never_run_again_without_approval(db: Database) -> None:
    run_state_machine_as_test(
        lambda: Changes(db),
        settings=settings(
            max_examples=40,
            stateful_step_count=30,
            deadline=None,
            phases=[Stage.explicit, Stage.generate],
            suppress_health_check=list(HealthCheck),
        ),
    )
