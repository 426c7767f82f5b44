"""Where a task graph stands: each task's status, its test contract by the last judged run, what it waits for."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from damascus.app import App, Project
from damascus.domain.errors import DamascusError
from damascus.domain.verdict import Phase, TaskStatus
from damascus.people import claims
from damascus.people.published import item
from damascus.store import projections, views
from damascus.store.db import Row
from damascus.store.halted import Halt, current
from damascus.store.tasks import judged_contracts, tasks_of
from damascus.telling import halts
from damascus.telling import tasks as in_words
from damascus.telling.tasks import ToldTask


@dataclass(frozen=True)
class GraphStatus:
    """Every task of the project's graphs, in their order."""

    project: str
    tasks: tuple[ToldTask, ...]
    halts: tuple[Halt, ...]
    holds: tuple[Row, ...]
    """Of a person, and of no halt."""
    checkpoint_every: int
    edited: tuple[Row, ...] = ()
    """Statuses that somebody wrote into a graph by hand: told, not obeyed."""

    @property
    def head(self) -> str:
        return in_words.head(self.project, self.tasks, self.checkpoint_every)

    @property
    def halted(self) -> list[str]:
        return in_words.halted(self.halts, self.holds, self.tasks)

    @property
    def following(self) -> str:
        if any(one.status is TaskStatus.BLOCKED for one in self.tasks):
            return "damascus inbox"
        going = next((one.task.story_id for one in self.tasks if one.goes_on), "")
        return f"damascus run, or damascus why {going}" if going else "damascus status"

    def published(self) -> dict[str, Any]:
        """The keys that programs read."""
        taken, of = in_words.checkpoint(self.tasks, self.checkpoint_every)
        return {
            "project": self.project,
            "tasks": [_published(one) for one in self.tasks],
            "checkpoint": {"number": taken, "of": of},
            "halts": [halts.published(one) for one in self.halts],
            "holds": [{"reason": hold["reason"], "since": hold["created_at"]} for hold in self.holds],
            "edited": list(self.edited),
            "goes_on_with": [one.task.story_id for one in self.tasks if one.goes_on],
        }


def status(app: App, project: Project, missing: dict[str, str] | None = None) -> GraphStatus:
    """`missing` are done stories that main lacks; without them git is asked."""
    db, found = app.database, tasks_of(app.database, project.row)
    if not found:
        raise DamascusError(
            f"no task graph is queued. Queue one: damascus tasks add {project.config.tasks.graph} (docs/task-graph.md)"
        )
    ids = [task.id for task in found]
    missing = claims.not_on_main(app, project) if missing is None else missing
    rows = {row.id: claims.marked(row, missing) for row in views.rows_of(db, project.row, ids)}
    judged = judged_contracts(db, ids)
    done = {task.story_id for task in found if task.phase is Phase.DONE}
    tasks = [
        ToldTask(task, rows[task.id], tuple(judged.get(task.id, ())), _unfinished(task.depends_on, done))
        for task in found
    ]
    holds = [hold for hold in db.all("open_holds", project=project.row.id) if hold["halt"] is None]
    return GraphStatus(
        project.row.name,
        tuple(tasks),
        tuple(current(db, project.row.id)),
        tuple(holds),
        project.config.tasks.checkpoint_every,
        tuple(projections.edited(db, project.row.id)),
    )


def _unfinished(needs: Sequence[str], done: set[str]) -> tuple[str, ...]:
    return tuple(need for need in needs if need not in done)


def _published(one: ToldTask) -> dict[str, Any]:
    task = one.task
    return {
        **item(one.row),
        "graph": task.graph,
        "depends_on": task.depends_on,
        "unfinished_dependencies": list(one.waits_for),
        "contracts": [judged.model_dump() | {"met": judged.met} for judged in one.judged],
        "tc": one.contract,
    }
