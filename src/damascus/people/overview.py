"""What `status` tells: the project in one line, what holds it up, which story first, what to do next.

Light to import: a command that only looks pays for what it shows.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal

from damascus.app import App, Project
from damascus.domain.ids import short
from damascus.domain.waits import ItemState
from damascus.engine import guards
from damascus.people import claims
from damascus.people.workers import living
from damascus.store import spending, views
from damascus.store.halted import current as current_halts
from damascus.store.views import ProjectView, StoryRow, WorkerRow
from damascus.system.hostid import host_name, host_of
from damascus.telling import halts
from damascus.telling.costs import lines
from damascus.telling.phrases import plural


@dataclass(frozen=True)
class HeaderPart:
    """A few words, and how they are meant. How that looks is the caller's."""

    text: str
    tone: Literal["plain", "warning", "alarm"] = "plain"


def midnight() -> datetime:
    return datetime.now().astimezone().replace(hour=0, minute=0, second=0, microsecond=0)


def look(app: App, project: Project, *, everything: bool = False, since: datetime | None = None) -> ProjectView:
    return views.snapshot(app.database, project.row, midnight(), everything=everything, since=since)


def header(app: App, project: Project, snapshot: ProjectView) -> list[HeaderPart]:
    """`calc`, `main at 9b1c0de`, `2 of 3 slots busy`, `1 needs you`."""
    main = project.row.main_branch
    alive = living(app, list(snapshot.workers))
    parts = [HeaderPart(snapshot.project), HeaderPart(f"{main} at {short(claims.main_tip(project))}")]
    parts += [HeaderPart(text) for text in (slots_told(alive) if alive else ["no worker runs"])]
    if needs := max(snapshot.count("blocked"), snapshot.count("questions")):
        parts.append(HeaderPart(f"{needs} needs you" if needs == 1 else f"{needs} need you", "alarm"))
    if alive:
        parts.append(confined({worker.confinement for worker in alive}))
    return parts


def slots_told(alive: list[WorkerRow]) -> list[str]:
    """Of the workers that live. A story that is tested in the merge queue has left its slot."""
    slots, held = sum(worker.slots for worker in alive), sum(worker.busy for worker in alive)
    more = [f"{held - slots} in the merge queue"] if held > slots else []
    return [f"{min(held, slots)} of {plural(slots, 'slot')} busy", *more]


def confined(levels: set[str]) -> HeaderPart:
    """The weakest of all workers: one without walls is one too many."""
    if "unconfined" in levels:
        return HeaderPart("agents run unconfined", "warning")
    return HeaderPart(f"agents confined by {' and '.join(sorted(levels))}")


def goes_on_first(rows: Sequence[StoryRow]) -> list[StoryRow]:
    """What was begun and can go on, after what is at work."""

    def place(row: StoryRow) -> int:
        if row.state == ItemState.LEASED:
            return 0
        return 1 if row.state == ItemState.READY and row.claims and not row.blocker else 2

    return sorted(rows, key=place)


def held_up(app: App, project: Project, snapshot: ProjectView) -> str | None:
    """Why the workers of this host begin nothing new, where something could be begun (X10)."""
    here = [worker for worker in living(app, list(snapshot.workers)) if host_of(worker.id) == host_name()]
    if not here or not snapshot.count("ready"):
        return None

    return (guards.guard(project.folder, project.config.limits) or "").removesuffix(
        ": nothing new is begun until it falls"
    )


def halted(app: App, project: Project) -> list[str]:
    """Why the builder, or one task of it, stops (A2): which reason, since when, and what ends it."""
    return [halts.sentence(one, datetime.now(UTC)) for one in current_halts(app.database, project.row.id)]


def no_agent(app: App, project: Project) -> str | None:
    """Why no agent is sent before a person acts."""
    asked = app.database.one("agent_asked", project=project.row.id)
    return f"no agent can work: {asked['about']['fault']}" if asked else None


def cost(app: App, project: Project, snapshot: ProjectView) -> list[str]:
    """A line, or none where no agent told of a token."""
    return lines(spending.cost(app.database, project.row, snapshot.counts))


def following(app: App, snapshot: ProjectView, missing: bool) -> str:
    """What to do next; `missing`: main lacks a story that is done."""
    if snapshot.count("questions") or missing:
        return "damascus inbox"
    if snapshot.count("ready") + snapshot.count("waiting") and not living(app, list(snapshot.workers)):
        return "damascus run"
    if snapshot.rows:
        return f"damascus {'why' if snapshot.rows[0].active else 'show'} {snapshot.rows[0].story_id}"
    return "damascus status --all"
