"""What keeps the house in order while stories are worked: one small service per file, one thread for all; only the
cascade and the look for regressions, which run tests, the look at a gateway, which may be silent, and what is sent
elsewhere (outward.py) have their own."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from functools import partial

from damascus.engine.agent_step import agent_fault
from damascus.engine.halts import look_at_halts
from damascus.engine.maintenance.cascade import Cascade
from damascus.engine.maintenance.landed import check_landed
from damascus.engine.maintenance.outward import Outward
from damascus.engine.maintenance.projector import EVERY as PROJECT_EVERY
from damascus.engine.maintenance.projector import Projector
from damascus.engine.maintenance.pruner import prune
from damascus.engine.maintenance.reaper import reap_workspaces
from damascus.engine.maintenance.regressions import Regressions
from damascus.engine.maintenance.rescuer import Rescuer
from damascus.engine.maintenance.reviews import EVERY as LOOK_AT_REVIEWS
from damascus.engine.maintenance.reviews import look_at_reviews
from damascus.engine.maintenance.ticking import EVERY as LOOK_AT_BOXES
from damascus.engine.maintenance.ticking import Ticking
from damascus.engine.repository_fault import look_after
from damascus.engine.services import Reports, Service, ServiceName, Supervisor, cause
from damascus.engine.tools import Tools
from damascus.store.stream import publish

PUBLISH_EVERY = 0.5
"""Committed events get their numbers, so that others can follow them (store/stream.py)."""
SOON = 10.0
"""Others wait for the rescuer and the publisher: what ails them may be over at any moment."""


class Housekeeping:
    """The services of a worker beside its slots (engine/services.py supervises them)."""

    def __init__(self, everyone: Sequence[Tools], worker_id: str, lease: timedelta) -> None:
        first = everyone[0]
        self.db = first.db
        rescuer = Rescuer(first.db, first.home / "workers", worker_id, lease)
        self.services = [
            Service(ServiceName.RESCUER, 1.0, rescuer.rescue, longest=SOON),
            Service(ServiceName.PUBLISHER, PUBLISH_EVERY, lambda: publish(first.db), longest=SOON),
            *_of_each(ServiceName.PLACE, 2.0, look_after, everyone),
            *_of_each(ServiceName.REVIEWS, LOOK_AT_REVIEWS, look_at_reviews, everyone),
            *_of_each(ServiceName.HALTS, 30.0, look_at_halts, everyone),
            *_of_each(ServiceName.REAPER, 300.0, reap_workspaces, everyone),
            *_of_each(ServiceName.LANDED, 600.0, check_landed, everyone),
            *self._projectors(everyone),
            *_of_each(ServiceName.PRUNER, 900.0, prune, everyone),
        ]
        self._ticking = [Ticking(tools) for tools in everyone]
        names = _names(ServiceName.TICKING, everyone)
        self.services += [Service(n, LOOK_AT_BOXES, t.look) for n, t in zip(names, self._ticking, strict=True)]
        cascade = Cascade({tools.project.repo_id: tools for tools in everyone})
        self.regressions = Regressions(everyone)
        self.outward = Outward(first)
        reports = Reports(first.db, first.home, worker_id, first.log)
        threads = {
            "housekeeping": self.services,
            ServiceName.CASCADE: [Service(ServiceName.CASCADE, cascade.every, cascade.look)],
            ServiceName.REGRESSIONS: [Service(ServiceName.REGRESSIONS, self.regressions.every, self.regressions.look)],
            **self.outward.services(),
            ServiceName.AGENT: [Service(ServiceName.AGENT, 5.0, lambda: agent_fault.look_after_all(everyone))],
        }
        self.threads = [Supervisor(name, services, reports) for name, services in threads.items()]

    def _projectors(self, everyone: Sequence[Tools]) -> list[Service]:
        self.projectors = {tools.project.repo_id: Projector(tools) for tools in everyone}

        def look(tools: Tools) -> list[str]:
            return self.projectors[tools.project.repo_id].look()

        return [
            replace(service, longest=SOON) for service in _of_each(ServiceName.PROJECTOR, PROJECT_EVERY, look, everyone)
        ]

    def last_projection(self) -> list[str]:
        """Once all else has ended, so that the files tell of the last story too; what could not be written."""
        publish(self.db)
        told = []
        for projector in self.projectors.values():
            try:
                projector.look()
            except Exception as err:  # what is only shown never fails what was done
                told.append(cause(err))
        return told

    def start(self) -> None:
        for thread in self.threads:
            thread.start()

    def stop(self) -> None:
        for thread in self.threads:
            thread.end()
        for thread in self.threads:
            thread.stop()
        for each in self._ticking:
            with suppress(Exception):  # what landed last; the next worker does it otherwise
                each.look()
        self.outward.last_look()


def _of_each(name: str, interval: float, work: Callable[[Tools], object], everyone: Sequence[Tools]) -> list[Service]:
    """One for each repository, so that what ails one is not the others'."""
    names = _names(name, everyone)
    return [Service(each, interval, partial(work, tools)) for each, tools in zip(names, everyone, strict=True)]


def _names(name: str, everyone: Sequence[Tools]) -> list[str]:
    return [name] if len(everyone) == 1 else [f"{name} of {tools.project.repo}" for tools in everyone]
