"""A run: one execution of a phase's script, journaled step by step.

A step that is done in the journal returns its recorded result, so a killed phase runs again from the top and
skips to where it was. Three kinds of step:

- `local`: can be repeated; its result is written with the next transaction.
- `effect`: changes something outside. Intent is committed first, the effect is keyed so that a second try
  finds the first, then done is committed with the events that tell of it.
- `agent`: an effect that costs money: once done it never runs again (agent_step/door.py).

The journal is keyed by run, not by attempt: rework without a burnt attempt must not find old results.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from damascus.domain.events import Event, EventKind
from damascus.domain.item import Item
from damascus.domain.outcome import Outcome
from damascus.domain.spec import Spec
from damascus.domain.verdict import Milestone, Phase
from damascus.engine import milestones
from damascus.engine.script_versions import KEY, SCRIPT_VERSIONS, UNRECORDED
from damascus.engine.step import Outputs, R, Step
from damascus.engine.tools import Tools, nothing
from damascus.store import artifacts, journal, leases
from damascus.store.db import Connection, jsonb, sql
from damascus.store.settle import write_record
from damascus.system.replacing import replace_file

if TYPE_CHECKING:
    from damascus.engine.agent_step.briefs import Handed
    from damascus.engine.agent_step.results import AgentResult
    from damascus.engine.agent_step.workspace import StartingPoint

T = TypeVar("T")
A = TypeVar("A", bound="AgentResult")


def no_events(_: Any) -> tuple[Event, ...]:
    return ()


def no_facts(_: Any) -> dict[str, object]:
    return {}


def reported(body: dict[str, object]) -> dict[str, object]:
    """The worker record's columns of a milestone's event."""
    progress = {key: value for key, value in body.items() if key not in ("milestone", "line")}
    return {"milestone": body["milestone"], "line": body["line"], "progress": progress}


def lay_out(folder: Path, files: Mapping[str, str]) -> None:
    """Files of a story's run folder, as the table has them."""
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        replace_file(folder / name, text.encode(errors="replace"))


class Slot:
    """The place that a run takes in its worker. Who is tested in the merge queue leaves it: no agent is at work."""

    def __init__(self, freed: Callable[[], None] | None = None) -> None:
        self.is_left = False
        self._freed = freed

    def leave(self) -> None:
        """Without a worker that fills it again there is nothing to leave."""
        if self._freed is not None:
            self.is_left = True
            self._freed()


class Run:
    """The journal of this run, and the only way for a script to do something."""

    def __init__(
        self,
        item: Item,
        tools: Tools,
        entries: dict[tuple[str, str], journal.JournalEntry] | None = None,
        slot: Slot | None = None,
    ) -> None:
        self.item = item
        self.tools = tools
        self.slot = slot or Slot()
        self.folder = tools.run_folder(item.story_id, item.run_no)
        self.artifacts = self.folder / "artifacts"
        self.story_folder = tools.story_folder(item.story_id)
        """What its steps leave for people and later steps; it outlives the attempts."""
        self.now: str = item.phase.value
        self.milestone = item.milestone
        self.pending: list[journal.DoneStep] = []
        self.reported: dict[str, object] = {}
        self.just_claimed = entries is None
        self.lost = False
        self.on_heartbeat: Callable[[], None] = nothing
        """What an agent at work writes of itself with each heartbeat."""
        self._left: dict[str, str] = {}
        self._entries = journal.load(tools.db, item) if entries is None else entries
        self.resumed = bool(self._entries)
        self.script = SCRIPT_VERSIONS.get(item.phase, UNRECORDED)

    # ── steps ─────────────────────────────────────────────────────────────────────────────────────────

    def local(
        self,
        step: Step[R],
        do: Callable[[], R],
        key: str = "",
        events: Callable[[], tuple[Event, ...]] = tuple,
    ) -> R:
        """A step that may run again. Its `done` goes with the next transaction."""
        done = self.result(step, key)
        if done is not None:
            return done
        self.begin(step)
        started = datetime.now(UTC)
        self.tools.boundary(step.name, "before")
        result = do()
        self.tools.boundary(step.name, "after")
        given = self._with_version({})
        self._remember(journal.DoneStep(step.name, key, started, result.model_dump(mode="json"), given, events()))
        return result

    def effect(
        self,
        step: Step[R],
        do: Callable[[dict[str, Any]], R],
        *,
        key: str = "",
        intent: Callable[[], dict[str, Any]] = dict,
        events: Callable[[R], tuple[Event, ...]] = no_events,
        facts: Callable[[R], dict[str, object]] = no_facts,
        begins: Callable[[], tuple[Event, ...]] = tuple,
        progress: Callable[[R], dict[str, object]] = no_facts,
        with_intent: Callable[[Connection], None] = nothing,
        with_done: Callable[[Connection, R], None] = nothing,
    ) -> R:
        """A step that changes something outside: intent, effect, done. `with_…` write in the same transaction."""
        done = self.result(step, key)
        if done is not None:
            return done
        self.begin(step)
        started, name = datetime.now(UTC), step.name
        self.tools.boundary(name, "before_intent")
        given = self._with_version(intent())
        begun = begins()

        def begin(c: Connection) -> None:
            with_intent(c)
            self._write_intent(c, name, key, given, begun)

        self._commit(begin)
        self.tools.boundary(name, "after_intent")
        result = do(given)
        self.tools.boundary(name, "after_effect")
        entry = journal.DoneStep(name, key, started, result.model_dump(mode="json"), given, events(result))

        def finish(c: Connection) -> None:
            with_done(c, result)
            self._finish(c, facts(result), progress(result))

        self._commit(finish, entry)
        self._entries[(name, key)] = journal.JournalEntry(name, key, "done", self.item.fence, given, entry.output)
        self.tools.boundary(name, "after_done")
        return result

    def agent(
        self,
        step: "Step[A]",
        spec: Spec,
        start: "StartingPoint",
        *,
        key: str = "",
        accepted: frozenset[str] = frozenset(),
        failed: "Callable[[Run, A], Outcome | None] | None" = None,
        handed: "Handed | None" = None,
        leaves: "Callable[[A], None]" = nothing,
    ) -> "A | Outcome":
        """The one door for an agent (agent_step/door.py): paid for, briefed, confined, overseen, its files collected,
        its answer read as the step's own type. A result that can be built upon, or what becomes of the story."""
        from damascus.engine.agent_step.door import run_agent  # the door is made of runs

        return run_agent(
            self, step, spec, start, key=key, accepted=accepted, failed=failed, handed=handed, leaves=leaves
        )

    def begin(self, step: Step[Any]) -> None:
        """From now on `status` names this step. The table says which script takes it."""
        if self.item.phase not in step.phases:
            raise ValueError(f"the step {step.name} is none of phase {self.item.phase}")
        self.now = step.name

    # ── results ───────────────────────────────────────────────────────────────────────────────────────

    def result(self, step: Step[R], key: str = "") -> R | None:
        """What the step returned in this run."""
        entry = self._entries.get((step.name, key))
        return step.parse(entry.output) if entry and entry.status == "done" else None

    def results(self, step: Step[R]) -> list[R]:
        """What the step returned in this run, under whichever keys."""
        found = (entry for entry in self._entries.values() if entry.step == step.name and entry.status == "done")
        return [step.parse(entry.output) for entry in found]

    def latest(self, step: Step[R], *others: Step[R]) -> R | None:
        """What the step, or one of the others, returned last in whichever run of the item: a later phase builds on
        it."""
        found = journal.latest(self.tools.db, self.item.id, step.name, *(other.name for other in others))
        return step.parse(found) if found else None

    def before(self, *steps: Step[Any], run_no: int | None = None) -> Outputs:
        """What these steps returned last in runs before this one (or before `run_no`)."""
        names = [step.name for step in steps]
        rows = self.tools.db.all("earlier_steps", item=self.item.id, run=run_no or self.item.run_no, steps=names)
        return Outputs({row["step"]: row["output"] for row in rows})

    def intent(self, step: Step[Any], key: str = "") -> journal.JournalEntry | None:
        """What a run before this claim meant to do and perhaps did."""
        return self._entries.get((step.name, key))

    def stopping(self) -> bool:
        """Is it time to end the agent: the worker stops, or the item was taken from it (a person's cancel)?"""
        return self.lost or self.tools.stopping()

    # ── the script's version ──────────────────────────────────────────────────────────────────────────

    def begun_by_another(self) -> bool:
        """Was this run begun by another version of the script, in whose journal this one can't go on?"""
        recorded = next((e.input[KEY] for e in self._entries.values() if KEY in e.input), UNRECORDED)
        return self.resumed and recorded != self.script

    def anew(self, why: str) -> "Run":
        """A new run of the same claim, nothing charged. What the old one did outside is found by key."""
        fresh = self.item.phase == Phase.BUILD
        body: dict[str, object] = {"run": self.item.run_no, "phase": self.item.phase.value, "why": why}
        events = ((EventKind.RUN_RESTARTED, body), *(self._end_of_contract() if fresh else ()))
        params: dict[str, Any] = {"item": self.item.id, "fence": self.item.fence, "run": self.item.run_no}
        params |= {"script": self.script, "fresh": fresh, "events": jsonb([list(event) for event in events])}

        def work(c: Connection) -> None:
            leases.assert_fence(c, self.item.id, self.item.fence)
            c.execute(sql("restart_run"), params)
            if fresh:  # in later phases its place in the merge queue keeps, with a commit built anew
                c.execute(sql("leave_queue"), {"item": self.item.id})

        self.tools.db.run(work)
        milestone = None if fresh else self.item.milestone
        return Run(replace(self.item, run_no=self.item.run_no + 1, milestone=milestone), self.tools, slot=self.slot)

    def _end_of_contract(self) -> tuple[Event, ...]:
        if self.milestone is None:
            return ()
        return self.reach(Milestone.TERMINATED, milestones.terminated_line("begun anew"))

    def _with_version(self, given: dict[str, Any]) -> dict[str, Any]:
        """The first step of a run records which version of the script began it."""
        return given if self._entries else {**given, KEY: self.script}

    # ── facts beside the steps ────────────────────────────────────────────────────────────────────────

    def note(self, step: Step[Any], key: str, more: dict[str, Any]) -> None:
        """Add to an intent what is known only once the effect has begun (an agent's process)."""
        self._commit(lambda c: journal.write_intent(c, self.item, step.name, key, more))

    def leave(self, name: str, text: str) -> None:
        """A file of the story's run folder (`build/test_critique.md`): a version in the table with the next
        transaction, then the file. Within a step, so that both are written or none."""
        self._left[name] = text

    def flush(self) -> None:
        """What was left, and no transaction came after it."""
        if self._left:
            self._commit(nothing)

    def reach(self, milestone: Milestone, line: str, **progress: object) -> tuple[Event, ...]:
        """The event of a new milestone, checked against the table of allowed moves (W3), with its progress (W14)."""
        known, self.milestone = self.milestone, milestones.checked(self.milestone, milestone)
        again = known == milestone and milestone == Milestone.WORKING
        return (
            () if again else ((EventKind.MILESTONE_CHANGED, {"milestone": milestone.value, "line": line, **progress}),)
        )

    def start_over(self, reason: str) -> tuple[Event, ...]:
        """A candidate that was DONE must be pushed again: this worker's contract ends, a new one begins (W3)."""
        ended = self.reach(Milestone.TERMINATED, milestones.terminated_line(reason)) if self.milestone else ()
        self.milestone = None
        return (*ended, *self.reach(Milestone.WORKING, milestones.working_line(reason)))

    def correct_base(self, base: str, tip: str) -> None:
        params = {"item": self.item.id, "fence": self.item.fence, "repo": self.item.repo_id, "base": base, "tip": tip}
        self._commit(lambda c: c.execute(sql("correct_base"), params))

    def write(self, work: Callable[[Connection], T]) -> T:
        """Something of this item's beside its journal, under the fence: its place in the merge queue."""
        result: T = self._commit(work)
        self.tools.bell.ring()
        return result

    def assert_held(self) -> None:
        """Raises Fenced when somebody took the item over."""
        self.tools.db.run(lambda c: leases.assert_fence(c, self.item.id, self.item.fence), single=True)

    # ── transactions ──────────────────────────────────────────────────────────────────────────────────

    def _commit(self, work: Callable[[Connection], Any], *also: journal.DoneStep) -> Any:
        """Fence check first, with what local steps left to be written, then the work."""
        dones = (*self.pending, *also)

        def whole(c: Connection) -> Any:
            journal.write_dones(c, self.item, dones)
            for done in dones:
                self._report(c, done.step, done.events)
            result = work(c)
            for name, text in self._left.items():
                content = text.encode(errors="replace")
                artifacts.put(c, self.item.id, name, content, run_no=self.item.run_no, step=self.now)
            return result

        result = self.tools.db.run(whole)
        self.pending, self.reported = [], {}
        if self._left:
            lay_out(self.story_folder, self._left)
            self._left = {}
        return result

    def _write_intent(
        self, c: Connection, step: str, key: str, given: dict[str, Any], begun: tuple[Event, ...]
    ) -> None:
        journal.write_intent(c, self.item, step, key, given)
        journal.write_events(c, self.item.project_id, self.item.id, begun)
        self._report(c, step, begun)

    def _report(self, c: Connection, step: str, events: tuple[Event, ...]) -> None:
        """The worker record follows the milestones (W14)."""
        for kind, body in events:
            if kind == EventKind.MILESTONE_CHANGED:
                write_record(c, self.item.id, {**reported(body), "step": step})

    def _finish(self, c: Connection, facts: dict[str, object], progress: dict[str, object]) -> None:
        if progress:
            write_record(c, self.item.id, {"progress": progress})
        if "pr_url" in facts:
            c.execute(sql("set_pull"), {"item": self.item.id, "fence": self.item.fence, **facts})

    def _remember(self, done: journal.DoneStep) -> None:
        self.pending.append(done)
        for kind, body in done.events:
            if kind == EventKind.MILESTONE_CHANGED:
                self.reported = reported(body)
        entry = journal.JournalEntry(done.step, done.key, "done", self.item.fence, done.input, done.output)
        self._entries[(done.step, done.key)] = entry
