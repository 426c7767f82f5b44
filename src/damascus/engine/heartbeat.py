"""One thread that renews all leases of the process, tells how far they are, and takes a checkpoint every 5 minutes."""

import threading
import time
from collections.abc import Callable
from datetime import timedelta

from damascus.domain.errors import DamascusError, Stopping
from damascus.domain.ids import Fence
from damascus.engine.run import Run
from damascus.store import leases
from damascus.store.db import Database, sql
from damascus.store.journal import write_events

CHECKPOINT = 300.0
TELL = 0.5


class Heartbeat:
    """Holds the leases of what this process works on. An item that it lost is reported to `lost`."""

    def __init__(self, db: Database, lease: timedelta, every: timedelta, lost: Callable[[int], None]) -> None:
        self.db = db
        self.lease = lease
        self.every = every.total_seconds()
        self.lost = lost
        self._held: dict[int, Fence] = {}
        self._runs: dict[int, Run] = {}
        self._told: dict[int, str] = {}
        self._lock = threading.Lock()
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._beat, name="heartbeat", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._end.set()
        self._thread.join(timeout=5)

    def hold(self, item_id: int, fence: Fence) -> None:
        with self._lock:
            self._held[item_id] = fence

    def follow(self, run: Run) -> None:
        with self._lock:
            self._runs[run.item.id] = run

    def drop(self, item_id: int) -> None:
        with self._lock:
            self._held.pop(item_id, None)
            self._runs.pop(item_id, None)
            self._told.pop(item_id, None)

    def held(self) -> list[int]:
        with self._lock:
            return list(self._held)

    def _beat(self) -> None:
        renew, checkpoint = 0.0, time.monotonic() + CHECKPOINT
        while not self._end.wait(min(TELL, self.every)):
            now = time.monotonic()
            try:
                if now >= renew:
                    self._renew()
                    renew = now + self.every
                self._tell()
                if now >= checkpoint:
                    self._checkpoint()
                    checkpoint = now + CHECKPOINT
            except (Stopping, DamascusError):
                continue

    def _renew(self) -> None:
        with self._lock:
            held = dict(self._held)
        still = leases.heartbeat(self.db, held, self.lease)
        for item_id in held.keys() - still:
            with self._lock:
                gone = self._held.get(item_id) == held[item_id]
            if gone:
                self.lost(item_id)

    def _tell(self) -> None:
        """`status` shows the step that runs now, though a local step writes nothing before it is done."""
        with self._lock:
            now = {item_id: run.now for item_id, run in self._runs.items()}
            news = {item_id: step for item_id, step in now.items() if self._told.get(item_id) != step}
            self._told |= news
        if news:
            items, steps = list(news), list(news.values())
            self.db.run(lambda c: c.execute(sql("tell_steps"), {"items": items, "steps": steps}))

    def _checkpoint(self) -> None:
        with self._lock:
            runs = list(self._runs.values())
        for run in runs:
            body: dict[str, object] = {"milestone": run.milestone, "line": f"in step {run.now}"}
            self.db.run(
                lambda c, r=run, b=body: write_events(c, r.item.project_id, r.item.id, (("checkpoint.taken", b),))  # type: ignore[misc]
            )
