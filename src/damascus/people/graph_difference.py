"""A task graph against the queue: what an edit means for each task, and how that is said."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace

from damascus.domain.described import Described
from damascus.domain.verdict import Phase
from damascus.store.queueing import NewStory
from damascus.tasks.task import Fault
from damascus.telling.phrases import listed, plural

NAMED = 10


class TaskEdit(Described):
    """What an edit of the graph means for one task."""

    NEW = "new", "it was not there"
    SAME = "unchanged", "nothing of it was edited"
    THERE = "there already", "another command queued it while this one looked"
    CHANGED = "changed", "edited before anybody began it: it gets its new spec, dependencies and scope in place"
    AGAIN = "begins anew", "edited after it was blocked or cancelled: it begins anew"
    BEGUN = "begun", "edited while it is worked on: it goes on as it was queued"
    DONE = "done", "edited after it landed"
    STALE = "stale", "edited while it is STALE"
    REMOVED = "removed", "no longer in the graph"


LANDED = (TaskEdit.DONE, TaskEdit.STALE)
WRITTEN = (TaskEdit.NEW, TaskEdit.CHANGED, TaskEdit.AGAIN)


@dataclass(frozen=True)
class TaskDifference:
    """One task, what became of it, and what was edited of it."""

    story: str
    edit: TaskEdit
    phase: Phase | None = None
    what: tuple[str, ...] = ()
    new: NewStory | None = None


@dataclass(frozen=True)
class GraphDifference:
    """A graph against the queue. Nothing is written yet. With `faults` there is nothing to write."""

    name: str
    path: str
    faults: tuple[Fault, ...] = ()
    warnings: tuple[str, ...] = ()
    tasks: tuple[TaskDifference, ...] = ()
    places: tuple[tuple[int, int], ...] = ()

    def of(self, *edits: TaskEdit) -> list[TaskDifference]:
        return [one for one in self.tasks if one.edit in edits]

    def but_for(self, there: Collection[str]) -> "GraphDifference":
        """Of what was to be written, these were there already."""
        if not there:
            return self
        tasks = [
            replace(one, edit=TaskEdit.THERE) if one.edit in WRITTEN and one.story in there else one
            for one in self.tasks
        ]
        return replace(self, tasks=tuple(tasks))


# ── in words ──────────────────────────────────────────────────────────────────────────────────────────


def sentences(difference: GraphDifference, stale: Sequence[str] = ()) -> Iterator[str]:
    """What was done, then what is left to the person. `stale`: what is so by this edit."""
    if new := [one.story for one in difference.of(TaskEdit.NEW)]:
        yield f"{plural(len(new), 'task is', 'tasks are')} queued: {listed(new, NAMED)}"
    if there := [one.story for one in difference.of(TaskEdit.THERE)]:
        said = f"{plural(len(there), 'task was', 'tasks were')} there already, queued by somebody else just now"
        yield f"{said}: {listed(there, NAMED)}"
    for one in difference.of(TaskEdit.CHANGED, TaskEdit.AGAIN):
        how = "changed before anybody began it" if one.edit is TaskEdit.CHANGED else f"was {one.phase}, begins anew"
        yield f"{one.story} {how}: {', '.join(one.what)}"
    for one in difference.of(TaskEdit.BEGUN, *LANDED, TaskEdit.REMOVED):
        if one.story in stale:
            undone = f"damascus approve {one.story}, or damascus change --undo {one.story}"
            yield f"{one.story} is STALE: {', '.join(one.what)}. Nothing is built anew before your word: {undone}"
        else:
            yield f"{one.story} {left_to_the_person(one, difference.name)}"
    same = difference.of(TaskEdit.SAME)
    if same:
        yield f"{plural(len(same), 'task is', 'tasks are')} unchanged"
    if cancelled := [one.story for one in same if one.phase is Phase.CANCELLED]:
        verb = "is cancelled and stays so" if len(cancelled) == 1 else "are cancelled and stay so"
        yield f"{listed(cancelled, NAMED)} {verb}; edited, it is queued again"


def left_to_the_person(one: TaskDifference, name: str) -> str:
    what = ", ".join(one.what)
    match one.edit:
        case TaskEdit.DONE | TaskEdit.STALE:
            again = f"damascus tasks add {name} --yes makes it STALE, nothing is built anew before your word"
            return f"is {one.edit.name} and was edited ({what}), and stays as it is. {again}"
        case TaskEdit.REMOVED if one.phase is Phase.DONE:
            return "is no longer in the graph. It is DONE and stays on main"
        case TaskEdit.REMOVED:
            return f"is no longer in the graph, and stays as it is ({one.phase}): damascus cancel {one.story}"
        case _:
            again = f"damascus cancel {one.story}, then damascus tasks add {name}"
            return f"was edited ({what}) while it is worked on, and goes on as it was queued. To begin it anew: {again}"
