"""Background services: each does its work at its own interval, and no error of one ends the thread or another.

An error is logged with its cause, and tried again later and later. What fails three times in a row stands in the
worker's row, where `status` and `doctor` find it, until it works again.
"""

import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from damascus.domain.described import Described
from damascus.domain.errors import DamascusError, Stopping, TransientError
from damascus.domain.ports import Log
from damascus.system.log_files import log_file
from damascus.system.masking import own_keys, without_secrets

if TYPE_CHECKING:
    from damascus.store.db import Database

LOOK = 0.25
LONGEST = 300.0
REPEATED = 3
"""So many failures in a row are told to people."""
SELDOM = 60.0
"""Seconds between two reports of what goes on failing: what never works must fill no disk."""
MOST_WORDS = 300
QUIET = (DamascusError, Stopping, TransientError)
"""Trouble outside, which is mostly over at the next try: no news before it repeats."""


class ServiceName(Described):
    """What a worker does beside its slots."""

    RESCUER = "rescuer", "takes items from workers that are gone"
    PUBLISHER = "publisher", "numbers events, so that others can follow them"
    PLACE = "place", "checks that the repository, its main branch and its damascus.toml are usable"
    REVIEWS = "reviews", "reads people's reviews of the pull requests"
    REAPER = "reaper", "removes workspaces that nobody needs, after a snapshot of each"
    LANDED = "landed", "checks that main still has what landed"
    PROJECTOR = "projector", "writes statuses, checkpoints and decisions beside the task graph"
    PRUNER = "pruner", "removes old run folders, homes and unused set-ups, and packs the mirror"
    TICKING = "ticking", "ticks the boxes of imported stories that are on main, in the files that they came from"
    CASCADE = "cascade", "watches CI of every main in a chain, and pauses what needs a red one"
    REGRESSIONS = (
        "regressions",
        "after a commit that no story landed, runs the tests of the tasks whose files it changed",
    )
    HALTS = "halts", "counts attempts in a row that ended blocked, and looks for required secrets"
    AGENT = "agent", "checks whether a gateway or agent that failed works again"
    NOTIFIER = "notifier", "tells people what [notify] names: needs-you, done, halted, budget"
    TRACER = "tracer", "sends a trace of each story that came to rest to the OpenTelemetry collector"
    HEARTBEAT = "heartbeat", "renews the leases of this worker"
    STEPS = "steps", "publishes the step that each of its stories is in"
    CHECKPOINTS = "checkpoints", "saves what agents have written so far"


@dataclass(frozen=True)
class Service:
    """What is done again and again. `name` has the repository's where there are several; `longest` bounds the pause
    between two tries of what fails."""

    name: str
    interval: float
    work: Callable[[], object]
    longest: float | None = None
    begins: float = 0.0
    """Seconds before the first time."""

    def pause(self, failures: int) -> float:
        """Until the next time: the interval; after failures in a row twice as long for each further one."""
        if failures == 0:
            return self.interval
        longest = max(LONGEST, self.interval) if self.longest is None else self.longest
        return min(self.interval * 2.0 ** min(failures - 1, 30), longest)


class Reports:
    """How a worker tells of its services: in its log, and for what repeats in its row."""

    def __init__(self, db: "Database", home: Path, worker_id: str, log: Log) -> None:
        self.db = db
        self.worker_id = worker_id
        self.log = log
        self.file = log_file(home, worker_id)

    def failed(self, service: str, failures: int, seconds: float, err: Exception) -> bool:
        """Does its worker's row tell of it now?"""
        if failures > 1 or not isinstance(err, QUIET):
            self.log.error("service failed", service=service, failures=failures, cause=cause(err), exc_info=err)
        if failures < REPEATED:
            return False
        told = {"failures": failures, "cause": cause(err), "log": str(self.file), "seconds": seconds}
        with suppress(Exception):  # the next failure is told again
            self.db.do("tell_trouble", worker=self.worker_id, service=service, **told)
            return True
        return False

    def recovered(self, service: str, failures: int) -> None:
        self.log.info("service recovered", service=service, failures=failures)

    def withdrawn(self, service: str) -> bool:
        """Is what was told to people taken back?"""
        with suppress(Exception):  # tried again after the next success
            self.db.do("end_trouble", worker=self.worker_id, service=service)
            return True
        return False


class Standing:
    """One service as it goes: when it is due, and how often it failed in a row."""

    def __init__(self, service: Service, reports: Reports) -> None:
        self.service = service
        self.reports = reports
        self.due = time.monotonic() + service.begins
        self.failures = 0
        self._since = 0.0
        self._reported = 0.0
        self._told = False

    def attempt(self) -> None:
        """Whatever it raises stays here, but for what ends a process (KeyboardInterrupt, SystemExit)."""
        try:
            self.service.work()
        except Exception as err:
            self._failed(err)
        else:
            self._went_well()
        self.due = time.monotonic() + self.service.pause(self.failures)

    def _failed(self, err: Exception) -> None:
        now = time.monotonic()
        self._since = now if self.failures == 0 else self._since
        self.failures += 1
        if self.failures > REPEATED and now - self._reported < SELDOM:
            return
        self._reported = now
        with suppress(Exception):  # a log that can't be written must not end what it tells of
            told = self.reports.failed(self.service.name, self.failures, now - self._since, err)
            self._told = self._told or told

    def _went_well(self) -> None:
        before, self.failures = self.failures, 0
        with suppress(Exception):
            if before:
                self.reports.recovered(self.service.name, before)
            if self._told:
                self._told = not self.reports.withdrawn(self.service.name)


class Supervisor:
    """One thread for some services, one after the other."""

    def __init__(self, name: str, services: Sequence[Service], reports: Reports, look: float = LOOK) -> None:
        self.services = [Standing(service, reports) for service in services]
        self._look = look
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._loop, name=name, daemon=True)

    def start(self) -> None:
        self._thread.start()

    def end(self) -> None:
        """Nothing new is begun."""
        self._end.set()

    def stop(self) -> None:
        self.end()
        self._thread.join(timeout=5)

    def lives(self) -> bool:
        return self._thread.is_alive()

    def _loop(self) -> None:
        while not self._end.wait(self._look):
            for each in self.services:
                if time.monotonic() >= each.due and not self._end.is_set():
                    each.attempt()


def cause(err: Exception) -> str:
    """One sentence: its class, unless the error was written for people, and its first words."""
    words = " ".join(without_secrets(str(err), own_keys()).split())
    told = words if isinstance(err, QUIET) and words else f"{type(err).__name__}: {words}".rstrip(": ")
    return told if len(told) <= MOST_WORDS else told[: MOST_WORDS - 1] + "…"
