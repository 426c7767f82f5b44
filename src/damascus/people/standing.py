"""The project in one line, as the window's strip shows it on every page. Nothing that is finished is counted."""

from dataclasses import dataclass
from datetime import UTC, datetime

from damascus.app import App, Project
from damascus.domain.ids import short
from damascus.people import claims
from damascus.people.overview import HeaderPart, confined, midnight, slots_told
from damascus.people.workers import living
from damascus.store import spending, views
from damascus.store.views import WorkerRow
from damascus.telling import costs
from damascus.telling.phrases import clock


@dataclass(frozen=True)
class Strip:
    """`main_state` is what CI says of main's tip; None where there is no CI that could tell. `money` is "" where no
    agent told of a token."""

    project: str
    branch: str
    main: str
    main_state: str | None
    slots: tuple[str, ...]
    confinement: HeaderPart | None
    needs_you: int
    money: str
    quota_at: str
    """When a provider's limit ends, where stories wait for that; else ""."""
    workers: tuple[WorkerRow, ...]


def standing(app: App, project: Project) -> Strip:
    db, row = app.database, project.row
    alive = living(app, views.workers(db, row))
    found = db.one("window_strip", project=row.id, repo=row.repo_id, today=midnight())
    assert found is not None
    return Strip(
        project=row.name,
        branch=row.main_branch,
        main=short(claims.main_tip(project)),
        main_state=found["ci_state"],
        slots=tuple(slots_told(alive)) if alive else ("no worker runs",),
        confinement=confined({worker.confinement for worker in alive}) if alive else None,
        needs_you=max(found["blocked"], found["questions"]),
        money=costs.today(found["tokens_today"], found["microdollars_today"], spending.per_merged_story(db, row)),
        quota_at=clock(found["quota_at"], datetime.now(UTC)) if found["quota_at"] else "",
        workers=tuple(alive),
    )
