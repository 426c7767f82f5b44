"""What keeps the house in order while stories are worked: one small service per file, one thread for all."""

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta

from damascus.domain.errors import DamascusError, Stopping, TransientError
from damascus.engine.maintenance.landed import check_landed
from damascus.engine.maintenance.pruner import prune
from damascus.engine.maintenance.reaper import reap_workspaces
from damascus.engine.maintenance.rescuer import Rescuer
from damascus.engine.tools import Tools

Service = tuple[str, float, Callable[[], object]]
LOOK = 0.25


class Housekeeping:
    """Runs each service at its own interval; trouble outside is tried again at the next one."""

    def __init__(self, tools: Tools, worker_id: str, lease: timedelta) -> None:
        rescuer = Rescuer(tools.db, tools.folder.parent.parent / "workers", worker_id, lease)
        self.services: list[Service] = [
            ("rescuer", 1.0, rescuer.rescue),
            ("reaper", 300.0, lambda: reap_workspaces(tools)),
            ("landed", 600.0, lambda: check_landed(tools)),
            ("pruner", 900.0, lambda: prune(tools)),
        ]
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._loop, name="housekeeping", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._end.set()
        self._thread.join(timeout=5)

    def _loop(self) -> None:
        due = {name: time.monotonic() for name, _, _ in self.services}
        while not self._end.wait(LOOK):
            for name, every, service in self.services:
                if time.monotonic() >= due[name] and not self._end.is_set():
                    with suppress(Stopping, DamascusError, TransientError, OSError):
                        service()
                    due[name] = time.monotonic() + every
