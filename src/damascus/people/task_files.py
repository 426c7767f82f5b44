"""The files beside the task graph become one commit on main, through the queue (docs/task-graph.md)."""

import re
from dataclasses import dataclass

from damascus.app import Project
from damascus.domain.errors import UsageError
from damascus.domain.ids import Sha
from damascus.engine.projecting import BuilderFacts
from damascus.engine.recording import queue_records
from damascus.engine.steps.records import changes_of
from damascus.people.acts import Done
from damascus.store import projections
from damascus.store.db import Database
from damascus.telling.phrases import listed

NUMBERED = re.compile(r"RECORDS-(\d{1,6})", re.IGNORECASE)


@dataclass(frozen=True)
class Committed(Done):
    """The story that brings them to main, and its files; "" and none where there is nothing to commit."""

    story: str = ""
    files: tuple[str, ...] = ()


def commit(db: Database, project: Project) -> Committed:
    """A person's uncommitted words are no part of it: each file is main's own with our part as it is now."""
    under_way = projections.records_under_way(db, project.row.repo_id)
    if under_way is not None:
        return Committed(
            f"{under_way} is under way already; it takes what is known when it is built.", _next(), under_way
        )
    settings, tip = project.config.tasks, _tip(project)
    found = BuilderFacts(db, project.row).look(settings)
    if not found.tasks:
        raise UsageError("there is no task in the queue. Add a task graph first: damascus tasks add TASK-GRAPH.md")
    changed = tuple(sorted(changes_of(project.mirror, tip, found)))
    if not changed:
        return Committed("Nothing to commit: main has the files as they are.", "damascus status")
    name = f"RECORDS-{_next_number(db, project)}"
    queue_records(db, project.row, project.config, name, found.paths, title="Records of the builder")
    return Committed(f"{name}  queued: {listed(list(changed))}", _next(), name, changed)


def _next() -> str:
    return "damascus run, or if one runs: damascus status"


def _tip(project: Project) -> Sha:
    """Main as it is; of a forge elsewhere as it was last seen."""
    branch = project.row.main_branch
    if project.is_local:
        project.mirror.fetch_main(branch)
    return project.mirror.tip(branch) or project.repository.tip(branch)


def _next_number(db: Database, project: Project) -> int:
    names = [str(row["story_id"]) for row in db.all("story_names", project=project.row.id)]
    return max((int(found[1]) for name in names if (found := NUMBERED.fullmatch(name))), default=0) + 1
