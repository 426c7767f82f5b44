"""Who works, where, and on what: hosts, their workers, the stories that these hold, and what is in trouble."""

import shutil
from dataclasses import dataclass
from datetime import datetime

from damascus.app import App, Project
from damascus.domain.verdict import Milestone, Substate
from damascus.people.overview import slots_told
from damascus.people.workers import living
from damascus.store import views
from damascus.store.db import Row
from damascus.store.views import Trouble, WorkerRow
from damascus.system.hostid import host_name, host_of

MOST_LEASES = 1000


@dataclass(frozen=True)
class HeldStory:
    """A story that a worker holds, and how far it is."""

    story: str
    title: str
    repo: str
    phase: str
    step: str
    milestone: str
    substate: str
    """In words; "" where nothing is worth telling beside the step."""
    line: str
    since: datetime
    until: datetime
    """When the lease ends unless it is renewed, which a worker that lives does all the time."""
    expired: bool


@dataclass(frozen=True)
class FleetWorker:
    """A process that claims. `lives` is how far this host can tell."""

    row: WorkerRow
    lives: bool
    holds: tuple[HeldStory, ...]

    @property
    def troubles(self) -> list[Trouble]:
        return self.row.troubles


@dataclass(frozen=True)
class FleetHost:
    """A machine. Its disk is known of this one alone: bytes free and in all, else None."""

    name: str
    here: bool
    workers: tuple[FleetWorker, ...]
    disk: tuple[int, int] | None

    @property
    def told(self) -> list[str]:
        """`2 of 3 slots busy`, and who has left its slot for the merge queue."""
        return slots_told([worker.row for worker in self.workers if worker.lives])


@dataclass(frozen=True)
class Fleet:
    """Every host that has a worker of this project, and leases of workers that nobody knows any more."""

    hosts: tuple[FleetHost, ...]
    orphans: tuple[tuple[str, HeldStory], ...]


def fleet(app: App, project: Project) -> Fleet:
    db = app.database
    known = views.workers(db, project.row)
    alive = {worker.id for worker in living(app, known)}
    held: dict[str, list[HeldStory]] = {}
    for row in db.all("leases_of_project", project=project.row.id, limit=MOST_LEASES):
        held.setdefault(row["worker_id"], []).append(_held(row))
    named: dict[str, list[FleetWorker]] = {}
    for worker in known:
        named.setdefault(worker.host, []).append(
            FleetWorker(worker, worker.id in alive, tuple(held.pop(worker.id, ())))
        )
    orphans = tuple((worker, story) for worker, stories in held.items() for story in stories)
    return Fleet(tuple(_host(app, name, workers) for name, workers in sorted(named.items())), orphans)


def _host(app: App, name: str, workers: list[FleetWorker]) -> FleetHost:
    here = any(host_of(worker.row.id) == host_name() for worker in workers)
    usage = shutil.disk_usage(app.home) if here else None
    return FleetHost(name, here, tuple(workers), (usage.free, usage.total) if usage else None)


def _held(row: Row) -> HeldStory:
    substate = next((word.means for word in Substate if word == row["substate"]), row["substate"] or "")
    return HeldStory(
        story=row["story_id"],
        title=row["title"],
        repo=row["repo"],
        phase=row["phase"],
        step=row["step"] if row["step"] and row["step"] != row["phase"] else "begins",
        milestone=row["milestone"] or Milestone.WORKING.value,
        substate=substate,
        line=row["line"] or "",
        since=row["acquired_at"],
        until=row["expires_at"],
        expired=bool(row["expired"]),
    )
