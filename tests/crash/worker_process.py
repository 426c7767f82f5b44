"""A worker in a process of its own that does as it is ordered: dies, stops or lets a person act at a named moment.

Moments have names, so that one counter serves all: `push:after_effect` (a journal boundary), `command:red` (a command
was started in that step), `forge:push` (right before the forge is called), `call:verify:120` (the 120th Python call
inside the step), `call:*:9000` (of the whole slot). Nothing of the product is changed: boundaries, forge and process
runner are what app.py hands over anyway.
"""

import os
import signal
import sys
import threading
import time
import traceback
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from types import FrameType
from typing import Any

from damascus.domain.errors import Fenced
from damascus.domain.ports import Push
from damascus.engine import lifecycle
from damascus.engine.tools import nothing
from damascus.engine.worker import Worker
from damascus.store.db import Connection, Database
from damascus.system import process
from tests.yard import Yard

BEGINS = ("before", "after_intent")
ENDS = ("after", "after_effect")


@dataclass(frozen=True)
class Act:
    """At the `nth` time that the moment `when` comes: kill, stop or person."""

    when: str
    do: str = "kill"
    nth: int = 1


@dataclass(frozen=True)
class Orders:
    """All that the process is told."""

    folder: Path
    url: str
    agent: str
    acts: tuple[Act, ...] = ()
    slots: int = 1
    fence_off: bool = False
    skew: float = 0.0
    until_idle: bool = True
    signals: bool = False
    can_sleep: bool = False


def main(orders: Orders) -> None:
    os.setsid()  # so that a test can kill it together with the git that it runs
    log = os.open(orders.folder / f"worker-{os.getpid()}.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.dup2(log, 1)
    os.dup2(log, 2)
    try:
        if orders.skew:
            shift_clocks(orders.skew)
        work(orders)
    except BaseException:
        traceback.print_exc()
        sys.stderr.flush()
        os._exit(3)


def work(orders: Orders) -> None:
    yard = Yard(orders.folder, orders.url)
    moments = Moments(yard, orders)
    worker = yard.worker(orders.agent, slots=orders.slots, boundary=moments.boundary, until_idle=orders.until_idle)
    watched = WithoutFence if orders.fence_off else Watched
    forge: Any = watched("forge", worker.tools.forge, moments.reached)
    workspaces: Any = Watched("workspaces", worker.tools.workspaces, moments.reached)
    worker.tools = replace(worker.tools, forge=forge, workspaces=workspaces)
    process.run = moments.watched_run(process.run)
    lifecycle.carry = moments.watched_carry(lifecycle.carry)
    if orders.signals:
        obey_signals(worker, moments)
    worker.run(nothing)
    moments.write("calls", f"* {moments.calls['*']}")
    moments.perform_overdue("call:*:")


def obey_signals(worker: Worker, moments: "Moments") -> None:
    """As the `run` command does: the first asks, the second insists."""

    def asked(number: int, frame: FrameType | None) -> None:
        worker.stop()
        moments.write("asked", str(worker.stop_requests))
        if worker.stop_requests > 1:
            os._exit(130)

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, asked)


def sleep_file(folder: Path, pid: int) -> Path:
    return folder / f"sleep-{pid}"


class Moments:
    """Counts what happens and carries out the acts."""

    def __init__(self, yard: Yard, orders: Orders) -> None:
        self.yard = yard
        self.acts = orders.acts
        self.log = os.open(
            orders.folder / f"moments-{os.getpid()}.txt", os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600
        )
        self._seen: Counter[str] = Counter()
        self.calls: Counter[str] = Counter()
        self._step = threading.local()
        self.quiet = threading.RLock()
        if orders.can_sleep or any(act.do == "stop" for act in self.acts):
            self.one_transaction_at_a_time(yard.db)
        if orders.can_sleep:
            threading.Thread(target=self.sleep_when_asked, daemon=True).start()
        self._counts = any(act.when.startswith("call:") or act.when == "count" for act in self.acts)
        if any(act.when.startswith("call:*") or act.when == "count all" for act in self.acts):
            self._counts = False
            threading.setprofile(self._count_all)

    def one_transaction_at_a_time(self, db: Database) -> None:
        """Whoever is stopped inside a transaction keeps its locks until the server ends it: another test."""
        real = db.run

        def run(work: Callable[[Connection], Any], **how: Any) -> Any:
            with self.quiet:
                return real(work, **how)

        db.run = run  # type: ignore[method-assign]

    def boundary(self, step: str, point: str) -> None:
        if point in ENDS and self._counts:
            sys.setprofile(None)
            self.write("calls", f"{step} {self.calls[step]}")
            self.perform_overdue(f"call:{step}:")
        self._step.now = step
        self.reached(f"{step}:{point}")
        if point in BEGINS and self._counts:
            sys.setprofile(lambda frame, event, arg: self._count(step, event))

    def reached(self, when: str) -> None:
        self._seen[when] += 1
        self.write("reached", when)
        for act in self.acts:
            if act.when == when and act.nth == self._seen[when]:
                self.perform(act)

    def perform_overdue(self, prefix: str) -> None:
        """A step may take fewer calls than when they were counted: then its end is the moment."""
        for act in self.acts:
            if act.when.startswith(prefix):
                self.perform(act)

    def perform(self, act: Act) -> None:
        self.write(act.do, f"{act.when} {act.nth}")
        match act.do:
            case "kill":
                os.kill(os.getpid(), signal.SIGKILL)
            case "stop":
                self.sleep()
            case "person":
                self.yard.commit({"notes.txt": f"of a person at {act.when}\n"}, "a person's commit")

    def sleep(self) -> None:
        """SIGSTOP, to this very thread: it must not run on while another takes the signal."""
        with self.quiet:
            signal.pthread_kill(threading.get_ident(), signal.SIGSTOP)

    def sleep_when_asked(self) -> None:
        while not sleep_file(self.yard.folder, os.getpid()).exists():
            time.sleep(0.01)
        self.sleep()

    def write(self, what: str, text: str) -> None:
        os.write(self.log, f"{what} {text}\n".encode())

    def watched_run(self, real: Callable[..., process.Finished]) -> Callable[..., process.Finished]:
        def run(*args: Any, **named: Any) -> process.Finished:
            told = named.pop("started", process.ignore)

            def started(identity: process.Identity) -> None:
                told(identity)
                self.reached(f"command:{getattr(self._step, 'now', '')}")

            return real(*args, started=started, **named)

        return run

    def watched_carry(self, real: Callable[..., None]) -> Callable[..., None]:
        def carry(*args: Any) -> None:
            try:
                real(*args)
            except Fenced as err:
                self.write("fenced", str(err))
                raise

        return carry

    def _count(self, step: str, event: str) -> None:
        if event == "call":
            self.calls[step] += 1
            self._act_at_call(step, self.calls[step])

    def _count_all(self, frame: FrameType, event: str, arg: object) -> None:
        if event == "call" and threading.current_thread().name.startswith("slot"):
            self.calls["*"] += 1
            self._act_at_call("*", self.calls["*"])

    def _act_at_call(self, step: str, n: int) -> None:
        for act in self.acts:
            if act.when == f"call:{step}:{n}":
                self.perform(act)


class Watched:
    """A real forge or workspaces; the begin and the end of each call are moments."""

    def __init__(self, name: str, real: Any, reached: Callable[[str], None]) -> None:
        self._name, self._real, self._reached = name, real, reached

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._real, name)
        return self._watched(name, found) if callable(found) else found

    def _watched(self, name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **named: Any) -> Any:
            self._reached(f"{self._name}:{name}")
            try:
                answer = real(*args, **named)
            except Exception as err:
                self._reached(f"{self._name}:{name}:{type(err).__name__}")
                raise
            self._reached(f"{self._name}:{name}:done")
            return answer

        return call


class WithoutFence(Watched):
    """A push that believes whatever fence it finds: what a zombie could do if there were none."""

    def push(self, push: Push) -> None:
        def believing(given: Push) -> None:
            found = self._real.remote_refs(given.branch, given.fence_ref).fence
            self._real.push(replace(given, fence_was=found))

        self._watched("push", believing)(push)


def shift_clocks(seconds: float) -> None:
    """This process' idea of the time is wrong; the machine's, git's and the database's are not."""
    import datetime as module

    from damascus.engine import run
    from damascus.store import journal

    real_time = time.time

    class Shifted(module.datetime):
        @classmethod
        def now(cls, tz: module.tzinfo | None = None) -> "Shifted":
            return super().now(tz) + module.timedelta(seconds=seconds)

    time.time = lambda: real_time() + seconds
    for each in (run, journal):
        each.datetime = Shifted  # type: ignore[attr-defined]
