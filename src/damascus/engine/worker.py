"""A worker: claims for its free slots, carries items in threads that live as long as it does, stops cleanly.

First stop request: no new claims, agents are stopped and their work saved, leases returned. Second: at once. A worker
that finds itself outdated (another host was upgraded first) drains: no new claims, what it holds is finished.
"""

import os
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta

from damascus.domain.errors import DamascusError, Fenced, Outdated, Stopping, TransientError
from damascus.domain.ids import Fence
from damascus.domain.item import Item
from damascus.engine import halts, lifecycle
from damascus.engine.agent_step import agent_fault
from damascus.engine.heartbeat import Heartbeat
from damascus.engine.maintenance import Housekeeping
from damascus.engine.maintenance.reviews import look_at_reviews
from damascus.engine.run import Slot
from damascus.engine.services import Reports
from damascus.engine.tools import Tools
from damascus.evidence.toolchain import ask_ahead
from damascus.scanning.scanner import Scanner
from damascus.store import leases
from damascus.system.hostid import host_of

POLL = 0.5
STOP_LIMIT = 10.0


@dataclass(frozen=True)
class Pace:
    """How many, how long, and until when."""

    slots: int
    lease: timedelta
    heartbeat: timedelta
    until_idle: bool = True
    poll: float = POLL


class Worker:
    """One process' worth of slots for one project: for `tools`' repository, and the others of it that this host has."""

    def __init__(
        self,
        tools: Tools,
        worker_id: str,
        pace: Pace,
        guard: Callable[[], str | None],
        others: Mapping[int, Tools] | None = None,
    ) -> None:
        self.tools = tools
        self.others = dict(others or {})
        self.id = worker_id
        self.pace = pace
        self.guard = guard
        self.stop_requests = 0
        self.paused: str | None = None
        self.outdated: str | None = None
        self.lacking: str | None = None
        """A required secret that is not set: nothing is begun here."""
        self.lock: object = None
        self.notes: tuple[str, ...] = ()
        self.unwritten: list[str] = []
        """What could not be written into the person's folder, a sentence each."""
        self.ends: list[Callable[[], object]] = []
        """What else ends with this worker."""
        self.housekeeping = Housekeeping([tools, *self.others.values()], worker_id, pace.lease)
        reports = Reports(tools.db, tools.home, worker_id, tools.log)
        self._heartbeat = Heartbeat(tools.db, pace.lease, pace.heartbeat, reports)
        self._slots: dict[tuple[int, Fence], Future[None]] = {}
        self._losses = 0
        self._asked_ahead = False
        self._off_slot: set[tuple[int, Fence]] = set()
        self._wake = threading.Event()
        beside = sum(each.window for each in (tools, *self.others.values()))
        self._pool = ThreadPoolExecutor(pace.slots + beside, thread_name_prefix="slot")

    # ── from outside ──────────────────────────────────────────────────────────────────────────────────

    def stop(self) -> None:
        """Called by the signal handler, again for "at once". It takes no lock: the handler may have interrupted the
        very thread that holds it. The loop looks often enough."""
        self.stop_requests += 1

    def stopping(self) -> bool:
        return self.stop_requests > 0

    def run(self, tick: Callable[[], None]) -> None:
        """Work until idle or stopped. `tick` is called a few times a second (the progress display)."""
        self._register()
        facts = {"project": self.tools.project.name, "slots": self.pace.slots, "pid": os.getpid()}
        self.tools.log.info("worker started", **facts, agent=self.tools.agent.name if self.tools.agent else None)
        agent_fault.look_after_all([self.tools, *self.others.values()], anew=True)
        self.lacking = halts.lacking([self.tools, *self.others.values()])
        self._heartbeat.start()
        self.housekeeping.start()
        for scanner in self._scanners():
            scanner.warm()
        try:
            with suppress(Stopping):
                self._work(tick)
            self._drain(tick)
            self.housekeeping.stop()
            with suppress(Stopping):
                self.unwritten = self.housekeeping.last_projection()
        except BaseException as err:
            self.tools.log.error("worker failed", error=type(err).__name__)
            raise
        finally:
            self.housekeeping.stop()
            self._heartbeat.stop()
            self._pool.shutdown(wait=self.stop_requests < 2, cancel_futures=True)
            for scanner in self._scanners():
                scanner.close()
            self.tools.log.info("worker ended", stop_requests=self.stop_requests, outdated=bool(self.outdated))
            for end in self.ends:
                end()
            with suppress(Stopping):
                self.tools.db.do("end_worker", id=self.id)

    def _work(self, tick: Callable[[], None]) -> None:
        """Raises Stopping when it is asked to stop while the database is away."""
        while not self.stopping() and not (self.outdated and not self._slots):
            self._reap()
            claimed = self._fill()
            tick()
            if (
                not claimed
                and not self._slots
                and self.pace.until_idle
                and (self.lacking or not self._movable())
                and not self._reviewed()
                and not self._regressed()
            ):
                return
            if not claimed or self.busy() >= self.pace.slots:
                self._wake.wait(self.pace.poll)
            self._wake.clear()

    def _reviewed(self) -> bool:
        """Before it ends: has a person said something on a pull request that lets a story go on?"""
        with suppress(DamascusError, TransientError):
            return any([look_at_reviews(tools) for tools in (self.tools, *self.others.values())])
        return False

    def _regressed(self) -> bool:
        """Before it ends: main may have got commits from elsewhere, and what they broke must not be told by nobody."""
        with suppress(DamascusError, TransientError):
            return bool(self.housekeeping.regressions.look(at_once=True))
        return False

    def _register(self) -> None:
        me = {"id": self.id, "host": host_of(self.id), "pid": os.getpid(), "slots": self.pace.slots}
        agent = self.tools.agent
        me["confinement"] = agent.confinement if agent else self.tools.level.value
        self.tools.db.do("register_worker", project=self.tools.project.id, **me)
        self.tools.db.do("worker_repos", id=self.id, repos=self._repos())
        self.tools.db.do("wake_landings", project=self.tools.project.id, repos=self._repos())

    def _repos(self) -> list[int]:
        return [self.tools.project.repo_id, *self.others]

    def _tools_of(self, item: Item) -> Tools:
        return self.others.get(item.repo_id, self.tools)

    def _scanners(self) -> list[Scanner]:
        every = [self.tools, *self.others.values()]
        return [scanner for tools in every for scanner in (tools.scanner, tools.quick_scanner)]

    def busy(self) -> int:
        """Slots in use. A story that is tested in the merge queue has left its slot."""
        return len(self._slots) - len(self._off_slot)

    # ── slots ─────────────────────────────────────────────────────────────────────────────────────────

    def _fill(self) -> int:
        free = self.pace.slots - self.busy()
        if free <= 0 or self.outdated:
            return 0
        self.paused = self.guard() or self.lacking
        if self.paused:
            return 0
        try:
            items = leases.claim(self.tools.db, self.tools.project.id, self.id, free, self.pace.lease)
        except Outdated as err:
            self.outdated = self.paused = str(err)
            return 0
        for item in items:
            self._heartbeat.hold(item.id, item.fence)
            facts = {"phase": item.phase.value, "run": item.run_no, "rescues": item.rescues}
            self.tools.log.info("claimed", story=item.story_id, **facts)
            self._slots[item.id, item.fence] = self._pool.submit(self._carry, item)
        if items and not self._asked_ahead:
            self._asked_ahead = True
            self._pool.submit(ask_ahead)
        self._give_back_unknown()
        return len(items)

    def _give_back_unknown(self) -> None:
        """A claim whose answer was lost with the connection left leases that we don't know of."""
        if self.tools.db.losses != self._losses:
            self._losses = self.tools.db.losses
            leases.give_back_unknown(self.tools.db, self.id, [item_id for item_id, _ in self._slots])

    def _carry(self, item: Item) -> None:
        slot = Slot(freed=lambda: self._left((item.id, item.fence)))
        try:
            lifecycle.carry(item, self._tools_of(item), slot, self._heartbeat.follow)
        except (Fenced, Stopping):
            return
        finally:
            # by fence: after a person's retry this process may hold the item again, in another slot
            self._heartbeat.drop(item.id, item.fence)
            self._wake.set()

    def _left(self, claim: tuple[int, Fence]) -> None:
        """Its story is tested in the merge queue: somebody else may be claimed."""
        self._off_slot.add(claim)
        self._wake.set()

    def _reap(self) -> None:
        """Collect finished slots; an exception here is a bug and ends the worker."""
        for claim, future in list(self._slots.items()):
            if future.done():
                del self._slots[claim]
                self._off_slot.discard(claim)
                future.result()

    def _movable(self) -> bool:
        row = self.tools.db.one("movable", project=self.tools.project.id, repos=self._repos())
        return bool(row and row["movable"])

    def _drain(self, tick: Callable[[], None]) -> None:
        until = time.monotonic() + STOP_LIMIT
        while self._slots and self.stop_requests < 2 and time.monotonic() < until:
            self._reap()
            tick()
            self._wake.wait(0.1)
            self._wake.clear()
