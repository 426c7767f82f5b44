"""A story's place in the merge queue: on top of those ahead, tested there, and the first in the end.

`domain/merge_queue.turn` says what is next; here it is done. The queue's own rows are the memory: whoever is killed in
here finds its place again, and every step is keyed by the commit that it is about.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import timedelta

from damascus.domain import merge_queue as rules
from damascus.domain.errors import Stopping
from damascus.domain.ids import Sha
from damascus.domain.merge_queue import EntryState, Move, QueueEntry
from damascus.domain.outcome import Outcome, Rejected, Wait
from damascus.domain.spec import Spec
from damascus.domain.verdict import Phase
from damascus.domain.waits import WaitKind
from damascus.engine.queue.blame import blamed, says_red
from damascus.engine.run import Run
from damascus.engine.steps.rebase import main_tip
from damascus.store import merge_queue
from damascus.store.merge_queue import Line

LOOK = 0.25
SHORT_WAIT = 10.0
"""Seconds that a story waits in its worker for those ahead, before it is put down."""
AHEAD_LOOK = timedelta(seconds=1)
PLACE_LOOK = timedelta(minutes=1)
"""Who has no place is woken for one that becomes free. If the one that was woken never takes it (it conflicts, it is
cancelled), nobody tells the next: it looks by itself."""
NOWHERE = Sha("0" * 40)

RebaseOnto = Callable[[Sha], Sha | Rejected]


@dataclass(frozen=True)
class ToTest:
    """A candidate that has its place and is to be tested there."""

    commit: Sha
    onto: Sha
    proven_below: bool
    """Nothing unproven lies beneath it: what is red is its own fault, or main's."""


@dataclass(frozen=True)
class Tested:
    """A candidate that is judged, pushed, proposed and green on top of `onto`."""

    commit: Sha
    onto: Sha
    pr_url: str

    def facts(self) -> dict[str, object]:
        return {"base_commit": self.onto, "candidate": self.commit, "pr_url": self.pr_url}


class MainAlone:
    """No queue: where CI runs elsewhere a story is built on top of main, and takes its place only to land."""

    def __init__(self, run: Run) -> None:
        self.run = run

    def take_place(self, rebase: RebaseOnto) -> ToTest | Tested | Outcome:
        tip = main_tip(self.run)
        commit = rebase(tip)
        return commit if isinstance(commit, Rejected) else ToTest(commit, tip, proven_below=True)

    def after(self, spec: Spec, place: ToTest, tested: Outcome) -> Outcome | None:
        """A main that fails by itself is not charged to the story."""
        return blamed(self.run, spec, place.commit, place.onto, tested)


class MergeQueue:
    """The queue as one story goes through it; `to_land`: until it is the first."""

    def __init__(self, run: Run, *, to_land: bool = False) -> None:
        self.run = run
        self.to_land = to_land
        self.which = (run.item.repo_id, run.tools.target)
        self._until = time.monotonic() + SHORT_WAIT

    def take_place(self, rebase: RebaseOnto) -> ToTest | Tested | Outcome:
        """The candidate on top of all who are ahead, as far as it was tested there; with `to_land` green not before it
        is the first. Or what is waited for."""
        run = self.run
        while True:
            heard = run.tools.bell.rings()
            queue = merge_queue.look(run.tools.db, *self.which)
            mine = queue.mine(run.item.id)
            turn = rules.turn(
                self._at_hand(mine), queue.ahead(run.item.id), run.tools.forge.landed, run.tools.forge.main_tip
            )
            if turn.move == Move.STACK:
                refused = self._stack(rebase, turn.ahead, queue)
                if refused is not None:
                    return refused
                continue
            assert mine is not None
            if turn.move == Move.LAND or (mine.state == EntryState.GREEN and not self.to_land):
                return Tested(mine.commit, mine.base, str(run.item.pr_url))
            if turn.move != Move.WAIT:
                return ToTest(mine.commit, mine.base, proven_below=turn.move == Move.LEAVE)
            if not self._soon(heard):
                return self._waits(queue)

    def keep_green(self, place: ToTest, tested: Tested) -> None:
        """CI that had to be asked with another commit of the same tree was green for that one: that one lands."""
        self._put(QueueEntry(self.run.item.id, place.onto, tested.commit, EntryState.GREEN))

    def after(self, spec: Spec, place: ToTest, tested: Outcome) -> Outcome | None:
        """None: it is red on top of others, who may be at fault, so it keeps its place and looks again."""
        if says_red(tested) and not place.proven_below:
            self.run.write(lambda c: merge_queue.mark(c, self.run.item.id, place.commit, EntryState.RED))
            return None
        return blamed(self.run, spec, place.commit, place.onto, tested)

    # ── on top of those ahead ─────────────────────────────────────────────────────────────────────────

    def _stack(self, rebase: RebaseOnto, ahead: QueueEntry | None, queue: Line) -> Outcome | None:
        """Take a place, or keep it with another commit. None: look again."""
        run = self.run
        if ahead is not None and not run.tools.forge.have(ahead.commit):  # another host has not pushed it yet
            return replace(self._waits(queue), after=AHEAD_LOOK)
        if queue.mine(run.item.id) is None and len(queue.entries) >= min(queue.width, run.tools.window):
            return self._waits_for_place(queue)
        onto = ahead.commit if ahead else run.tools.forge.main_tip()
        placed = self._as_reviewed(onto)
        if placed is None:
            commit = rebase(onto)
            if isinstance(commit, Rejected):
                return self._waits_for_place(queue) if ahead else commit
            placed = QueueEntry(run.item.id, onto, commit)
        answer = self._put(placed)
        if answer == "in" and run.tools.forge.runs_ci:
            run.slot.leave()  # tests of the queue are CI: they take no agent's slot
        return self._waits_for_place(queue) if answer == "full" else None

    def _put(self, entry: QueueEntry) -> str:
        return self.run.write(lambda c: merge_queue.put(c, self.which, entry, self.run.tools.window))

    def _as_reviewed(self, onto: Sha) -> QueueEntry | None:
        """The candidate that was judged, green and reviewed needs nothing more where it sits on what is ahead."""
        item = self.run.item
        if item.phase != Phase.MERGE or item.base_commit != onto or item.candidate is None:
            return None
        return QueueEntry(item.id, onto, item.candidate, EntryState.GREEN)

    def _at_hand(self, mine: QueueEntry | None) -> QueueEntry | None:
        """A place keeps, with a commit built anew, where its commit was only on a host that is gone."""
        return mine if mine is None or self.run.tools.forge.have(mine.commit) else replace(mine, base=NOWHERE)

    # ── waiting ───────────────────────────────────────────────────────────────────────────────────────

    def _soon(self, heard: int) -> bool:
        """Those ahead are tested at this moment, perhaps by this very process: a short wait is cheaper than a claim."""
        run = self.run
        if run.tools.stopping():
            raise Stopping
        if not run.slot.is_left or time.monotonic() > self._until:
            return False
        run.tools.bell.wait(heard, LOOK)
        return True

    def _waits(self, queue: Line) -> Wait:
        key = f"{self.run.item.repo_id} {self.run.tools.target}"
        return Wait(WaitKind.LANDING, key, message="others are ahead in the queue", version=queue.version)

    def _waits_for_place(self, queue: Line) -> Wait:
        return replace(self._waits(queue), after=PLACE_LOOK)
