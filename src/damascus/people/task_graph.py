"""A task graph enters the queue, all of it or nothing; and after an edit only what has not begun is changed."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from damascus.app import App, Project
from damascus.domain.errors import UsageError
from damascus.domain.spec import digest
from damascus.domain.verdict import Phase
from damascus.people.acts import Actor, Done
from damascus.people.changes_of_tasks import BlastRadius, blast_radius, mark_changed
from damascus.people.graph_difference import LANDED, WRITTEN, GraphDifference, TaskDifference, TaskEdit, sentences
from damascus.people.graph_specs import specs_of
from damascus.people.spec_files import Ground, shown
from damascus.people.task_check import check
from damascus.store import queueing
from damascus.store.db import Database
from damascus.store.queueing import NewStory
from damascus.store.stale import Invalidation
from damascus.store.tasks import TaskRow, place_tasks, tasks_of
from damascus.tasks.differences import differences
from damascus.tasks.specs import spec_of
from damascus.tasks.task import Task

COMMAND = re.compile(rb"\n## Test Command\n\n```sh\n(.*?)\n```\n", re.DOTALL)


@dataclass(frozen=True)
class AddedGraph(Done):
    """What was queued, changed and left alone, and which tasks are STALE by it."""

    difference: GraphDifference
    stale: tuple[str, ...] = ()


def compare(db: Database, project: Project, file: Path) -> GraphDifference:
    """The whole graph is checked first: all faults are told, and then nothing is compared."""
    ground = Ground.of(project)
    path, name = ground.place(file), shown(str(file))
    if Path(path).is_absolute():
        raise UsageError(
            f"{name} lies outside of the repository. Put the graph into it, and add it again. Nothing was queued."
        )
    checked = check(file)
    if checked.faults:
        return GraphDifference(name, path, tuple(checked.faults))
    made = specs_of(ground, checked.graph, path)
    if made.faults:
        return GraphDifference(name, path, tuple(sorted(made.faults)))
    known = {row.story_id.lower(): row for row in tasks_of(db, project.row)}
    tasks = {task.id: task for task in checked.graph.tasks}
    found = [_difference(tasks[new.spec.story], new, known.get(new.spec.story.lower())) for new in made.stories]
    _refuse_other_graph(ground, path, [known[key.lower()] for key in tasks if key.lower() in known])
    _refuse_other_story(db, project, [one.new for one in found if one.new and one.edit is TaskEdit.NEW])
    places = [(known[key.lower()].id, place) for place, key in enumerate(tasks) if key.lower() in known]
    found += _removed(path, {key.lower() for key in tasks}, known.values())
    return GraphDifference(name, path, (), made.warnings, tuple(found), tuple(places))


def touched(app: App, project: Project, difference: GraphDifference) -> BlastRadius | None:
    """What it would touch that DONE tasks were edited; None: none was."""
    edited = [one.story for one in difference.of(*LANDED)]
    return blast_radius(app, project, edited) if edited else None


def add(app: App, project: Project, difference: GraphDifference, person: Actor, *, stale: bool = False) -> AddedGraph:
    """What is new or not begun, in one transaction or not at all. What was begun is only told, and what is DONE, unless
    `stale`: a person has seen what that touches."""
    db, config = app.database, project.config
    stories = [one.new for one in difference.of(*WRITTEN) if one.new]
    prefix, budget = config.project.branch_prefix, config.limits.budget_cycles
    queued = queueing.add(db, project.row, stories, prefix, budget, unbegun=True)
    difference = difference.but_for([one.story_id for one in queued if one.unchanged])
    stories = [one for one in stories if one.spec.story in {each.story for each in difference.of(*WRITTEN)}]
    place_tasks(db, difference.places)
    marked = _marked(app, project, difference, person) if stale else ()
    following = f"damascus show {marked[0]}" if marked else "damascus run" if stories else "damascus tasks status"
    return AddedGraph("\n".join(sentences(difference, marked)), following, difference, marked)


def _marked(app: App, project: Project, difference: GraphDifference, person: Actor) -> tuple[str, ...]:
    for one in difference.of(*LANDED):
        why = f"the task was edited in {difference.path}: {', '.join(one.what)}"
        mark_changed(app, project, one.story, Invalidation(why, person.name, new=one.new))
    return tuple(one.story for one in difference.of(*LANDED))


# ── what an edit means ────────────────────────────────────────────────────────────────────────────────


def _difference(task: Task, new: NewStory, row: TaskRow | None) -> TaskDifference:
    if row is None:
        return TaskDifference(task.id, TaskEdit.NEW, new=new)
    if _is_same(task, new, row):
        return TaskDifference(row.story_id, TaskEdit.SAME, row.phase)
    return TaskDifference(row.story_id, _edit(row), row.phase, tuple(differences(row.parsed, new.spec)), new)


def _is_same(task: Task, new: NewStory, row: TaskRow) -> bool:
    """As it was added, or as a change of it asks for. A task that was begun is not edited by what others brought to
    main since, where that only tells another Test Command, nor by a graph that was moved."""
    wanted = ((row.change or {}).get("new_spec") or {}).get("hash")
    known = (row.spec_hash, row.added_hash, wanted)
    if digest(new.raw) in known:
        return True
    was = COMMAND.search(row.spec)
    if _edit(row) is TaskEdit.CHANGED or was is None:
        return False
    return digest(spec_of(task, row.graph, was[1].decode(errors="replace"))) in known


def _edit(row: TaskRow) -> TaskEdit:
    if row.phase in (Phase.BLOCKED, Phase.CANCELLED):
        return TaskEdit.AGAIN
    if row.phase in (Phase.DONE, Phase.STALE):
        return TaskEdit.DONE if row.phase is Phase.DONE else TaskEdit.STALE
    return TaskEdit.BEGUN if row.started else TaskEdit.CHANGED


def _removed(path: str, names: set[str], known: Iterable[TaskRow]) -> Iterator[TaskDifference]:
    for row in known:
        if row.graph == path and row.story_id.lower() not in names and row.phase is not Phase.CANCELLED:
            yield TaskDifference(row.story_id, TaskEdit.REMOVED, row.phase)


def _refuse_other_graph(ground: Ground, path: str, rows: Sequence[TaskRow]) -> None:
    """An id is one task of the project. A graph that was moved is the same graph."""
    for row in rows:
        if row.graph != path and (ground.repository.top / row.graph).exists():
            raise UsageError(
                f"{row.story_id} is a task of {row.graph} already. Give that of {path} another id. Nothing was queued."
            )


def _refuse_other_story(db: Database, project: Project, new: Sequence[NewStory]) -> None:
    """What was added by a spec file of its own is no task, whatever its id is."""
    ids = {story.spec.story.lower() for story in new}
    taken = [row["story_id"] for name, row in queueing.named(db, project.row, new).items() if name in ids]
    if taken:
        raise UsageError(f"{taken[0]} is a story by a spec of its own. Give the task another id. Nothing was queued.")
