"""What keeps the house in order while stories are worked: one small service per file, one thread for all; only the
cascade, which runs tests, and the look at a gateway, which may be silent, have their own."""

import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import timedelta

from damascus.domain.errors import DamascusError, Stopping, TransientError
from damascus.engine import agent_fault
from damascus.engine.maintenance.cascade import Cascade
from damascus.engine.maintenance.landed import check_landed
from damascus.engine.maintenance.pruner import prune
from damascus.engine.maintenance.publisher import EVERY, publish_events
from damascus.engine.maintenance.reaper import reap_workspaces
from damascus.engine.maintenance.rescuer import Rescuer
from damascus.engine.maintenance.reviews import EVERY as LOOK_AT_REVIEWS
from damascus.engine.maintenance.reviews import look_at_reviews
from damascus.engine.place import look_after
from damascus.engine.tools import Tools

Service = tuple[str, float, Callable[[], object]]
LOOK = 0.25


class Housekeeping:
    """Runs each service at its own interval; trouble outside is tried again at the next one."""

    def __init__(self, everyone: Sequence[Tools], worker_id: str, lease: timedelta) -> None:
        first = everyone[0]
        rescuer = Rescuer(first.db, first.home / "workers", worker_id, lease)
        self.services: list[Service] = [
            ("rescuer", 1.0, rescuer.rescue),
            ("publisher", EVERY, lambda: publish_events(first)),
            ("place", 2.0, lambda: [look_after(tools) for tools in everyone]),
            ("reviews", LOOK_AT_REVIEWS, lambda: [look_at_reviews(tools) for tools in everyone]),
            ("reaper", 300.0, lambda: [reap_workspaces(tools) for tools in everyone]),
            ("landed", 600.0, lambda: [check_landed(tools) for tools in everyone]),
            ("pruner", 900.0, lambda: [prune(tools) for tools in everyone]),
        ]
        cascade = Cascade({tools.project.repo_id: tools for tools in everyone})
        self._end = threading.Event()
        lanes: dict[str, list[Service]] = {
            "housekeeping": self.services,
            "cascade": [("cascade", cascade.every, cascade.look)],
            "agent": [("agent", 5.0, lambda: agent_fault.look_after_all(everyone))],
        }
        self._threads = [
            threading.Thread(target=self._loop, args=(services,), name=name, daemon=True)
            for name, services in lanes.items()
        ]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        self._end.set()
        for thread in self._threads:
            thread.join(timeout=5)

    def _loop(self, services: Sequence[Service]) -> None:
        due = {name: time.monotonic() for name, _, _ in services}
        while not self._end.wait(LOOK):
            for name, every, service in services:
                if time.monotonic() >= due[name] and not self._end.is_set():
                    with suppress(Stopping, DamascusError, TransientError, OSError):
                        service()
                    due[name] = time.monotonic() + every
