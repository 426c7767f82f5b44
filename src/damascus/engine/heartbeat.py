"""One thread that renews all leases of the process, tells how far they are, and takes a checkpoint every 5 minutes."""

import threading
from contextlib import suppress
from datetime import timedelta
from functools import partial

from damascus.domain.errors import Fenced
from damascus.domain.events import EventKind
from damascus.domain.ids import Fence
from damascus.engine.run import Run
from damascus.engine.services import Reports, Service, ServiceName, Supervisor
from damascus.store import leases
from damascus.store.db import Connection, Database
from damascus.store.journal import write_events

CHECKPOINT = 300.0
TELL = 0.5
CATCH_UP = 10.0


class Heartbeat:
    """Holds the leases of what this process works on. What it lost is told to its run, whose agent is then ended."""

    def __init__(self, db: Database, lease: timedelta, every: timedelta, reports: Reports) -> None:
        self.db = db
        self.lease = lease
        seconds = every.total_seconds()
        look = min(TELL, seconds)
        # A lease that is lost is worse than a database that is asked often: renewing is tried again at once.
        services = (
            Service(ServiceName.HEARTBEAT, seconds, self._renew, longest=look),
            Service(ServiceName.STEPS, look, self._tell, longest=CATCH_UP),
            Service(ServiceName.CHECKPOINTS, CHECKPOINT, self._checkpoint, begins=CHECKPOINT),
        )
        self._held: dict[int, Fence] = {}
        self._runs: dict[int, Run] = {}
        self._told: dict[int, str] = {}
        self._lock = threading.Lock()
        self.thread = Supervisor(ServiceName.HEARTBEAT, services, reports, look)

    def start(self) -> None:
        self.thread.start()

    def stop(self) -> None:
        self.thread.stop()

    def hold(self, item_id: int, fence: Fence) -> None:
        with self._lock:
            self._held[item_id] = fence

    def follow(self, run: Run) -> None:
        with self._lock:
            self._runs[run.item.id] = run

    def drop(self, item_id: int, fence: Fence) -> None:
        """Forget this claim; a newer one of the same item stays."""
        with self._lock:
            if self._held.get(item_id) == fence:
                self._held.pop(item_id, None)
                self._runs.pop(item_id, None)
                self._told.pop(item_id, None)

    def held(self) -> list[int]:
        with self._lock:
            return list(self._held)

    def _renew(self) -> None:
        with self._lock:
            held = dict(self._held)
        still = leases.heartbeat(self.db, held, self.lease)
        for item_id in held.keys() - still:
            with self._lock:
                run = self._runs.get(item_id)
            if run is not None and run.item.fence == held[item_id]:
                run.lost = True  # its agent is ended, nobody waits for what it writes any more
            self.drop(item_id, held[item_id])

    def _tell(self) -> None:
        """`status` shows the step that runs now, though a local step writes nothing before it is done."""
        with self._lock:
            now = {item_id: run.now for item_id, run in self._runs.items()}
            news = {item_id: step for item_id, step in now.items() if self._told.get(item_id) != step}
            self._told |= news
            fences = [self._runs[item_id].item.fence for item_id in news]
            runs = list(self._runs.values())
        if news:
            self.db.do("tell_steps", items=list(news), fences=fences, steps=list(news.values()))
        for run in runs:
            with suppress(Fenced):
                run.on_heartbeat()

    def _checkpoint(self) -> None:
        with self._lock:
            runs = list(self._runs.values())
        for run in runs:
            with suppress(Fenced):
                self.db.run(partial(_take_checkpoint, run))


def _take_checkpoint(run: Run, c: Connection) -> None:
    leases.assert_fence(c, run.item.id, run.item.fence)
    body: dict[str, object] = {"milestone": run.milestone, "line": f"in step {run.now}"}
    write_events(c, run.item.project_id, run.item.id, ((EventKind.CHECKPOINT_TAKEN, body),))
