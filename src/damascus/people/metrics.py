"""The numbers of a project, for programs that draw and watch them (docs/metrics.md)."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from damascus.app import App, Project
from damascus.domain import money
from damascus.domain.errors import DamascusError
from damascus.domain.events import EventKind
from damascus.domain.graph import MainState
from damascus.domain.verdict import Verdict
from damascus.engine.services import ServiceName
from damascus.people.workers import living
from damascus.store import metrics, notices, views
from damascus.store.views import WorkerRow

OTHER = "other"
"""Whatever a newer release wrote: labels are words that are known here."""
Labelled = Mapping[tuple[str, ...], float]


@dataclass(frozen=True)
class Numbers:
    """What is known at this moment; with the database away only that. Keys are the labels' values, in their order."""

    project: str
    database_up: bool = False
    schema: int = 0
    stories: Labelled = field(default_factory=dict)
    waiting: Labelled = field(default_factory=dict)
    needs_you: int = 0
    workers: int = 0
    slots: int = 0
    busy: int = 0
    queue: Labelled = field(default_factory=dict)
    main_red: Labelled = field(default_factory=dict)
    leases_expired: int = 0
    failing: Labelled = field(default_factory=dict)
    unsent: Labelled = field(default_factory=dict)
    events: Mapping[tuple[str, str], int] = field(default_factory=dict)
    behind: int = 0
    tokens: int = 0
    dollars: float = 0.0

    def written(self, *kinds: EventKind) -> int:
        """How often events of these kinds were written."""
        return sum(n for (kind, _), n in self.events.items() if kind in kinds)

    @property
    def verdicts(self) -> Labelled:
        """Of attempts: `passed` for each story that landed, the others by what they were rejected for."""
        found: Counter[tuple[str, ...]] = Counter({("passed",): self.written(EventKind.STORY_LANDED)})
        for (kind, word), n in self.events.items():
            if kind == EventKind.ATTEMPT_REJECTED:
                found[(word if word in set(Verdict) else OTHER,)] += n
        return found


def numbers(app: App, project: Project) -> Numbers:
    """Nothing that is finished is counted for it. Never raises because the database is away: that is a number too."""
    try:
        return _read(app, project)
    except DamascusError:
        return Numbers(project.row.name)


def _read(app: App, project: Project) -> Numbers:
    db, row = app.database, project.row
    opened = metrics.open_stories(db, row.id)
    now = metrics.open_numbers(db, row.id)
    workers = living(app, views.workers(db, row))
    queues = metrics.queue_lengths(db, row.id)
    spent = db.one("spend_project", project=row.id) or {"tokens": 0, "microdollars": 0}
    return Numbers(
        project=row.name,
        database_up=True,
        schema=int(now["schema"]),
        stories=_summed(((each["phase"], each["state"]), each["n"]) for each in opened),
        waiting=_summed(((each["wait"],), each["n"]) for each in opened if each["wait"]),
        needs_you=int(now["questions"]),
        workers=len(workers),
        slots=sum(each.slots for each in workers),
        busy=sum(each.busy for each in workers),
        queue=_summed(((each["repo"], each["state"]), each["n"]) for each in queues if each["state"]),
        main_red={(each["repo"],): float(each["ci"] == MainState.RED) for each in queues},
        leases_expired=int(now["expired"]),
        failing=_failing(workers),
        unsent=_summed(((each["target"],), each["n"]) for each in notices.waiting(db, row.id)),
        events=metrics.counted(db, row.id),
        behind=metrics.behind(db, row.id),
        tokens=int(spent["tokens"]),
        dollars=(spent["microdollars"] or 0) / money.DOLLAR,
    )


def _summed(pairs: Iterable[tuple[tuple[str, ...], int]]) -> Labelled:
    found: Counter[tuple[str, ...]] = Counter()
    for labels, n in pairs:
        found[labels] += n
    return found


def _failing(workers: list[WorkerRow]) -> Labelled:
    """By service, without the repository that its name may end with; every service is there, mostly with 0."""
    found: Counter[tuple[str, ...]] = Counter({(name.value,): 0 for name in ServiceName})
    for worker in workers:
        for trouble in worker.troubles:
            name = trouble.service.partition(" of ")[0]
            found[(name if name in set(ServiceName) else OTHER,)] += 1
    return found
