"""The graph in one look: repositories and their chains, tasks and what they need, who holds which files."""

from dataclasses import dataclass

from damascus.app import App, Project
from damascus.domain.errors import DamascusError
from damascus.people import claims
from damascus.people.task_status import GraphStatus, status
from damascus.store import graph
from damascus.store.db import Row
from damascus.telling.graph import ToldRepository, told

HOLDERS = 200
WAITERS = 11


@dataclass(frozen=True)
class Holder:
    """A story and the files that nobody else may touch until it is on main, with the first who wait for them."""

    story: str
    title: str
    repo: str
    phase: str
    files: tuple[str, ...]
    waiters: tuple[str, ...]
    more: bool


@dataclass(frozen=True)
class GraphPage:
    """`tasks` None: no task graph is queued, and `no_tasks` says what to do."""

    repositories: tuple[ToldRepository, ...]
    edges: tuple[tuple[int, int], ...]
    tasks: GraphStatus | None
    no_tasks: str
    holders: tuple[Holder, ...]


def graph_page(app: App, project: Project) -> GraphPage:
    db, row = app.database, project.row
    seen = graph.look(db, row.id)
    tasks, why = _tasks(app, project)
    rows = db.all("holders_of_files", project=row.id, waiters=WAITERS, limit=HOLDERS)
    return GraphPage(tuple(told(seen)), tuple(sorted(seen.graph.edges)), tasks, why, tuple(map(_holder, rows)))


def _tasks(app: App, project: Project) -> tuple[GraphStatus | None, str]:
    try:
        return status(app, project, claims.last_known_missing(app, project)), ""
    except DamascusError as err:
        return None, str(err)


def _holder(row: Row) -> Holder:
    waiters = tuple(row["waiters"])
    return Holder(
        row["story_id"],
        row["title"],
        row["repo"],
        row["phase"],
        tuple(row["file_scope"]),
        waiters[: WAITERS - 1],
        len(waiters) == WAITERS,
    )
