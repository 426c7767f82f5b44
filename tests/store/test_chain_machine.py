"""Everything that may happen to the repositories of a chain, in any order: the rules hold, no wake-up is lost.

After each step the rows keep every rule of `lane.RULES`. A claim never starts what a simple model forbids, and leaves
nothing ready behind that it could have started. At the end every main is green and what can move comes to an end.
"""

from datetime import timedelta

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

from damascus.domain.feedback import VerdictFeedback
from damascus.domain.graph import Declared, Graph, MainState, declared_graph
from damascus.domain.item import Item
from damascus.domain.outcome import GivenBack, Landed, NeedsPerson, Outcome, Rejected, Wait
from damascus.domain.verdict import Verdict
from damascus.store import graph, people
from damascus.store.db import Database
from damascus.store.graph import Judgement
from tests.store.lane import RULES, Lane

NAMES = ("shop", "store", "web", "docs", "alone")
SHAPES: tuple[dict[str, tuple[str, ...]], ...] = (
    {"store": ("shop",), "web": ("store",), "docs": ("shop",)},
    {"store": ("shop", "docs"), "web": ("store",)},
    {"web": ("shop", "store", "docs")},
    {},
)
PATTERNS = ("a.py", "b.py", "c.py", "src/")
TABLES = (
    "leases, active_scopes, scope_barriers, repo_locks, queues, queue_entries, journal, events_outbox, human_issues, "
    "worker_records, repo_holds"
)
OUTCOMES: dict[str, Outcome] = {
    "landed": Landed("c" * 40, "reachable", {"pr_url": "local#1"}),
    "rejected": Rejected(Verdict.TESTS_FAILED, VerdictFeedback(failing_tests=["t"])),
    "ci": Wait("ci", "sha", timedelta(hours=1)),
    "upstream": Wait("upstream", "0", timedelta(hours=1)),
    "question": NeedsPerson(None, "which?", ("a", "b"), VerdictFeedback()),
    "given back": GivenBack(),
}
STAGES = [Stage.explicit, Stage.generate]
ALL_RULES = " UNION ALL ".join(
    f"SELECT '{name}' AS rule, to_jsonb(t) AS row FROM ({text}) t" for name, text in RULES.items()
)


class Chains(RuleBasedStateMachine):
    def __init__(self, db: Database) -> None:
        super().__init__()
        self.db = db
        db.run(lambda c: c.execute(f"TRUNCATE {TABLES}, work_items, repo_edges, repos, projects CASCADE".encode()))
        first = Lane(db)
        self.lanes = {"shop": first} | {name: first.beside(name) for name in NAMES[1:]}
        self.lane, self.project = first, first.project.id
        self.numbers = {lane.project.repo_id: name for name, lane in self.lanes.items()}
        self.net = Graph({})
        self.state: dict[str, str | None] = {}
        self.bounds = dict.fromkeys(NAMES, 0)
        self.working: dict[str, Item] = {}
        self.repo_of: dict[str, str] = {}
        self.names = iter(f"S{n}" for n in range(1000))
        self.shas = iter(f"{n:040x}" for n in range(10000))

    # ── people ────────────────────────────────────────────────────────────────────────────────────────

    @initialize(shape=st.sampled_from(SHAPES[:3]))
    def begin(self, shape: dict[str, tuple[str, ...]]) -> None:
        self.declare(shape, {})

    @rule(shape=st.sampled_from(SHAPES), bounds=st.dictionaries(st.sampled_from(NAMES), st.integers(0, 2), max_size=2))
    def declare(self, shape: dict[str, tuple[str, ...]], bounds: dict[str, int]) -> None:
        self.bounds = dict.fromkeys(NAMES, 0) | bounds
        said = [
            Declared(lane.project.repo_id, name, shape.get(name, ()), self.bounds[name])
            for name, lane in self.lanes.items()
        ]
        graph.declare(self.db, self.project, said)
        self.net = declared_graph(Graph({}), said)
        self.look_at_states()

    @precondition(lambda self: len(self.repo_of) < 12)
    @rule(name=st.sampled_from(NAMES), pattern=st.sampled_from(PATTERNS), priority=st.integers(0, 3), data=st.data())
    def add(self, name: str, pattern: str, priority: int, data: st.DataObject) -> None:
        story = next(self.names)
        open_ones = sorted(self.repo_of)
        deps = data.draw(st.lists(st.sampled_from(open_ones), max_size=1)) if open_ones else []
        self.lanes[name].add(story, scope=[pattern], priority=priority, depends_on=deps)
        self.repo_of[story] = name

    @precondition(lambda self: self.repo_of)
    @rule(data=st.data(), command=st.sampled_from(["cancel", "retry"]))
    def command(self, data: st.DataObject, command: str) -> None:
        story = data.draw(st.sampled_from(sorted(self.repo_of)))
        if self.lane.row(story)["phase"] in ("done", "cancelled"):
            return
        (people.cancel if command == "cancel" else people.retry)(self.db, self.project, story)
        self.working.pop(story, None)

    @rule(name=st.sampled_from(NAMES), hold=st.booleans())
    def hold_or_release(self, name: str, hold: bool) -> None:
        repo = self.lanes[name].project.repo_id
        if not hold:
            people.release_hold(self.db, self.project, repo)
            return
        people.hold(self.db, self.project, repo, "why")
        stopped = {repo} | self.net.above(repo) | self.net.below(repo)
        self.working = {s: i for s, i in self.working.items() if i.repo_id not in stopped}

    # ── time and CI ───────────────────────────────────────────────────────────────────────────────────

    @rule()
    def waits_are_over(self) -> None:
        self.lane.execute("UPDATE work_items SET not_before = now() - interval '1 s' WHERE not_before IS NOT NULL")

    @precondition(lambda self: self.repo_of)
    @rule(data=st.data(), hours=st.sampled_from([0, 10]))
    def grows_old(self, data: st.DataObject, hours: int) -> None:
        story = data.draw(st.sampled_from(sorted(self.repo_of)))
        text = (
            "UPDATE work_items SET deadline_at = now() - %s * interval '1 h' WHERE story_id = %s AND state <> 'resting'"
        )
        self.lane.execute(text, hours, story)

    @rule(name=st.sampled_from(NAMES), state=st.sampled_from(["green", "green", "red", "pending", None]))
    def judged(self, name: str, state: MainState | None) -> None:
        repo = self.lanes[name].project.repo_id
        if repo in self.net.linked():
            graph.judge(self.db, self.project, Judgement(repo, next(self.shas), {}, state))
            self.look_at_states()

    def look_at_states(self) -> None:
        rows = graph.repos(self.db, self.project)
        self.state = {row.name: "red" if row.red_since else row.ci_state for row in rows}

    # ── workers ───────────────────────────────────────────────────────────────────────────────────────

    @rule(count=st.integers(1, 4))
    def claim(self, count: int) -> None:
        before, holding = dict(self.working), self.holding()
        claimed = self.lane.claim(count)
        for item in claimed:
            story = str(item.story_id)
            assert self.allowed(item, before), f"{story} of {self.repo_of[story]} could not start"
            before[story] = item
        self.working = before
        for repo in {item.repo_id for item in claimed if item.id not in holding}:
            bound = self.bounds[self.numbers[repo]]
            works = self.lane.query("SELECT count(*) AS n FROM repo_locks WHERE works AND repo_id = %s", repo)
            assert bound == 0 or works[0]["n"] <= bound, f"{self.numbers[repo]} has {works} workers"
        if len(claimed) < count:
            assert self.lane.query("SELECT story_id FROM work_items WHERE state = 'ready'") == []

    def holding(self) -> set[int]:
        return {row["item_id"] for row in self.lane.query("SELECT item_id FROM active_scopes")}

    def allowed(self, item: Item, working: dict[str, Item]) -> bool:
        """Nobody at work in its chain, nothing red or unknown above it."""
        above = self.net.above(item.repo_id)
        chain = above | self.net.below(item.repo_id)
        if any(self.state[self.numbers[up]] in ("red", "pending") for up in above):
            return False
        return not any(other.repo_id in chain for other in working.values())

    @precondition(lambda self: self.working)
    @rule(data=st.data(), how=st.sampled_from(sorted(OUTCOMES)))
    def settle(self, data: st.DataObject, how: str) -> None:
        story = data.draw(st.sampled_from(sorted(self.working)))
        self.lane.settle(self.working.pop(story), OUTCOMES[how])
        self.look_at_states()

    @precondition(lambda self: self.working)
    @rule(data=st.data())
    def dies_and_is_rescued(self, data: st.DataObject) -> None:
        story = data.draw(st.sampled_from(sorted(self.working)))
        self.lane.expire(self.working.pop(story))
        self.lane.rescue()

    # ── what is always true ───────────────────────────────────────────────────────────────────────────

    @invariant()
    def the_rows_keep_the_rules(self) -> None:
        broken = self.lane.query(ALL_RULES)
        began_before_the_edge = "two repositories of one chain are never worked at once"
        assert [row for row in broken if row["rule"] != began_before_the_edge] == []

    def teardown(self) -> None:
        """Everything that needs no person comes to an end: no wake-up was lost."""
        if not self.repo_of:
            return
        for lane in self.lanes.values():
            people.release_hold(self.db, self.project, lane.project.repo_id)
        for _ in range(200):
            for item in self.working.values():
                self.lane.land(item)
            self.green_everywhere()
            self.lane.execute("UPDATE work_items SET not_before = now() - interval '1 s' WHERE not_before IS NOT NULL")
            claimed = self.lane.claim(20)
            self.working = {str(item.story_id): item for item in claimed}
            if not claimed:
                break
        left = {name: s for name, s in self.lane.states().items() if s not in ("done", "blocked", "cancelled")}
        assert {name: state for name, state in left.items() if state != "dependency"} == {}, left
        assert self.lane.query("SELECT * FROM repo_locks") == []

    def green_everywhere(self) -> None:
        for repo in self.net.roots_first():
            if repo in self.net.linked():
                graph.judge(self.db, self.project, Judgement(repo, next(self.shas), {}, "green"))
        for repo in self.net.roots_first():  # each tip that moved made those below it unknown again
            if repo in self.net.linked():
                row = next(row for row in graph.repos(self.db, self.project) if row.id == repo)
                graph.judge(self.db, self.project, Judgement(repo, str(row.ci_sha), {}, "green"))


@pytest.mark.req("W13", "W20")
def test_whatever_happens_chains_keep_their_promises(db: Database) -> None:
    bounds = settings(
        max_examples=50, stateful_step_count=35, phases=STAGES, deadline=None, suppress_health_check=list(HealthCheck)
    )
    run_state_machine_as_test(lambda: Chains(db), settings=bounds)
