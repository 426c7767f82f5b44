"""The train: who is tested on top of whom, when each is expected on main, who comes next, and who was sent back."""

from dataclasses import dataclass
from datetime import datetime

from damascus.app import App, Project
from damascus.domain.ids import short
from damascus.domain.merge_queue import EntryState
from damascus.store import train
from damascus.store.db import Row, database_clock
from damascus.store.train import Car, Durations
from damascus.store.views import StoryRow
from damascus.telling.phrases import duration, one_line, whole_words

SENT_BACK = 10
LONG = 200


@dataclass(frozen=True)
class CarShown:
    """A car in words. `on` is the story it is tested on top of, "" for main; `eta` says unknown where nothing tells."""

    car: Car
    on: str
    says: str
    jobs: str
    eta: str


@dataclass(frozen=True)
class Train:
    """One merge queue: a repository and its target branch."""

    repo: str
    target: str
    main: str
    width: int
    cars: tuple[CarShown, ...]


@dataclass(frozen=True)
class SentBack:
    """An attempt that did not land, and why."""

    story: str
    verdict: str
    why: str
    at: datetime


@dataclass(frozen=True)
class Trains:
    """Every merge queue of the project that somebody is in, and what stands around them."""

    trains: tuple[Train, ...]
    behind: tuple[StoryRow, ...]
    sent_back: tuple[SentBack, ...]
    durations: Durations

    @property
    def usually(self) -> str:
        """What the estimates rest on."""
        if self.durations.ci is None or self.durations.landing is None:
            return "No story has landed after CI yet, so nobody knows how long it takes."
        return (
            f"CI usually takes {duration(self.durations.ci)} and the way to main {duration(self.durations.landing)} "
            f"after it: the median of the {self.durations.known} that landed last."
        )


def trains(app: App, project: Project) -> Trains:
    db, row = app.database, project.row
    found, past, now = train.cars(db, row), train.durations(db, row), database_clock(db)
    queues: dict[tuple[int, str], list[Car]] = {}
    for car in found:
        queues.setdefault((car.repo_id, car.target), []).append(car)
    rejected = db.all("ledger_rejections", project=row.id, limit=SENT_BACK)
    return Trains(
        tuple(_train(cars, past, now) for cars in queues.values()),
        tuple(train.behind(db, row)),
        tuple(_sent_back(one) for one in rejected),
        past,
    )


def _train(cars: list[Car], past: Durations, now: datetime) -> Train:
    """A car lands not before the one ahead of it."""
    by_commit = {car.commit: car.story_id for car in cars}
    shown, ahead = [], 0.0
    for n, car in enumerate(cars):
        left = _left(car, past, now)
        ahead = max(ahead, left) if left is not None else ahead
        eta = "unknown" if left is None else f"~{duration(ahead)}" if ahead >= 1 else "now"
        shown.append(CarShown(car, by_commit.get(car.base, ""), _says(car, first=n == 0), _jobs(car), eta))
    head = cars[0]
    return Train(head.repo, head.target, short(head.main_sha), head.width, tuple(shown))


def _left(car: Car, past: Durations, now: datetime) -> float | None:
    """Seconds until it may land, by those that landed last."""
    if past.ci is None or past.landing is None or car.state is EntryState.RED:
        return None
    if car.state is EntryState.GREEN:
        return past.landing
    begun = car.ci_since or car.entered_at
    return max(past.ci - (now - begun).total_seconds(), 0.0) + past.landing


def _says(car: Car, *, first: bool) -> str:
    match car.state:
        case EntryState.GREEN:
            return "lands next" if first else "lands in its turn"
        case EntryState.RED:
            return "it leaves, and those behind it pass it by"
        case EntryState.TESTING:
            return f"in step {car.step}" if car.step and car.step != car.phase else "about to be judged"


def _jobs(car: Car) -> str:
    progress = car.progress or {}
    return f"{progress.get('jobs_passed', 0)} of {progress['total_jobs']}" if "total_jobs" in progress else "unknown"


def _sent_back(row: Row) -> SentBack:
    why = whole_words(one_line(row["message"] or ""), LONG)
    return SentBack(row["story_id"], row["verdict"] or "unknown", why, row["created_at"])
