"""What is going on at this moment, as the window's first page shows it. Nothing that is finished is counted."""

from dataclasses import dataclass
from datetime import UTC, datetime

from damascus.app import App, Project
from damascus.domain.verdict import Phase
from damascus.domain.waits import IN_QUEUE, ItemState, WaitKind
from damascus.people import claims, overview
from damascus.people.questions import open_questions
from damascus.store import ships, views
from damascus.store.db import Row
from damascus.store.views import ProjectView, StoryRow, WorkerRow
from damascus.telling import causes, inbox, now, troubles
from damascus.telling.inbox import OpenQuestionTold

MOST = 1000
"""Of what waits or is ready, no more is counted: `1,000 or more`."""
LANDED = 5
MOVING = (*IN_QUEUE, WaitKind.MIRROR)


@dataclass(frozen=True)
class StoryLine:
    """A line of `status`. `part` is how much of its CI is through: passed and all, where that is known."""

    row: StoryRow
    now: str
    tries: str
    since: str
    part: tuple[int, int] | None


@dataclass(frozen=True)
class CauseCount:
    """So many of what; `most`: that many or more."""

    words: str
    n: int
    most: bool = False


@dataclass(frozen=True)
class Moment:
    """`alarms` are what holds everything up, `notes` what is worth knowing. `shipped`: SHIP is declared."""

    alarms: tuple[str, ...]
    notes: tuple[str, ...]
    questions: tuple[OpenQuestionTold, ...]
    stale: tuple[StoryLine, ...]
    moving: tuple[StoryLine, ...]
    train: tuple[tuple[str, str], ...]
    waiting: tuple[CauseCount, ...]
    ready: tuple[StoryLine, ...]
    ready_count: CauseCount
    caught: tuple[CauseCount, ...]
    landed: tuple[Row, ...]
    empty: bool
    shipped: bool


def moment(app: App, project: Project, workers: list[WorkerRow]) -> Moment:
    """`workers` are those that live."""
    db, row = app.database, project.row
    lines = [story_line(each) for each in views.picked(db, row)]
    ready = db.one("window_ready", project=row.id, most=MOST)
    assert ready is not None
    questions = tuple(inbox.told(issue) for issue in open_questions(db, project))
    return Moment(
        alarms=tuple(_alarms(app, project, workers)),
        notes=tuple(_notes(app, project, workers, ready["n"])),
        questions=questions,
        stale=tuple(line for line in lines if line.row.phase == Phase.STALE),
        moving=tuple(line for line in lines if line.row.state == ItemState.LEASED or line.row.wait_kind in MOVING),
        train=tuple(causes.cars(_train(app, project), row.main_branch)),
        waiting=tuple(_waiting(app, project)),
        ready=tuple(line for line in lines if line.row.state == ItemState.READY),
        ready_count=CauseCount("ready", ready["n"], ready["n"] == MOST),
        caught=tuple(_caught(app, project)),
        landed=tuple(db.all("window_landed", project=row.id, today=overview.midnight(), most=LANDED)),
        empty=not lines and not questions and db.one("window_any", project=row.id) is None,
        shipped=ships.current(db, row.id) is not None,
    )


def story_line(row: StoryRow) -> StoryLine:
    progress = row.progress or {}
    total = progress.get("total_jobs")
    part = (int(progress.get("jobs_passed", 0)), int(total)) if total else None
    return StoryLine(row, now.now(row), now.tries(row), now.since(row), part)


def _alarms(app: App, project: Project, workers: list[WorkerRow]) -> list[str]:
    missing = claims.last_known_missing(app, project)
    lost = [claims.told(missing, project.row.main_branch)] if missing else []
    none = overview.no_agent(app, project)
    return [*lost, *overview.halted(app, project), *([none] if none else []), *troubles.told(workers)]


def _notes(app: App, project: Project, workers: list[WorkerRow], ready: int) -> list[str]:
    held_up = overview.held_up(app, project, ProjectView(project.row.name, (), {"ready": ready}, tuple(workers)))
    none = [] if project.settings.suite else ["the project's own suite: there is none (damascus doctor)"]
    return [*([f"nothing new is begun: {held_up}"] if held_up else []), *none]


def _train(app: App, project: Project) -> list[Row]:
    row = project.row
    return app.database.all("window_train", repo=row.repo_id, target=row.main_branch, most=20)


def _waiting(app: App, project: Project) -> list[CauseCount]:
    kinds, moment = [kind.value for kind in WaitKind], datetime.now(UTC)
    rows = app.database.all("window_waits", project=project.row.id, kinds=kinds, most=MOST)
    return [CauseCount(causes.waits(row, moment), row["n"], row["n"] == MOST) for row in rows]


def _caught(app: App, project: Project) -> list[CauseCount]:
    rows = app.database.all("window_caught", project=project.row.id, today=overview.midnight(), most=MOST)
    return [CauseCount(causes.caught(row["verdict"]), row["n"], row["n"] == MOST) for row in rows]
