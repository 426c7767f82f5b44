"""All that is wrong with a task graph, each fault with its line: `damascus tasks check`. Linear in its size."""

from collections.abc import Iterator, Mapping, Sequence

from damascus.domain.ids import StoryId
from damascus.domain.scope import covered
from damascus.domain.tasks import beside
from damascus.tasks.contract_files import outside
from damascus.tasks.fields import TaskField
from damascus.tasks.order import Needs, circles, ordered_with
from damascus.tasks.overlaps import Shared, shared_files
from damascus.tasks.task import Fault, Task, TaskGraph
from damascus.tasks.values import quoted

MOST_FAULTS = 1_000
TOGETHER = "in one batch. Put one of them into a later batch, or give each its own files."
ORDER = "and both say can_parallel: true. Let one depend on the other, or write false, or give each its own files."
EVERYBODY = -1
"""As a set of bits."""

Numbers = Mapping[StoryId, int]


def check_graph(graph: TaskGraph, path: str = "") -> list[Fault]:
    """The faults of reading and all others, by line. `path`: where the graph lies in its repository."""
    numbers = {task.id: number for number, task in reversed(list(enumerate(graph.tasks)))}
    needs = [[numbers[each] for each in task.depends_on if each in numbers] for task in graph.tasks]
    found = [
        *graph.faults,
        *_twice(graph),
        *_unknown(graph, numbers),
        *_circles(graph, needs),
        *_unfinished(graph),
        *outside(graph.tasks),
        *(_not_theirs(graph, beside(path)) if path else ()),
        *_batches(graph, numbers),
        *_side_by_side(graph, needs),
    ]
    return _few(sorted(set(found)))


def _few(found: list[Fault]) -> list[Fault]:
    if len(found) <= MOST_FAULTS:
        return found
    more = Fault(found[MOST_FAULTS].line, f"there are {len(found) - MOST_FAULTS:,} more faults from here on.")
    return [*found[:MOST_FAULTS], more]


def _twice(graph: TaskGraph) -> Iterator[Fault]:
    """A story's id is a branch and a folder, which some file systems know by one name whatever the case."""
    first: dict[str, Task] = {}
    for task in graph.tasks:
        other = first.setdefault(task.id.upper(), task)
        if other is not task:
            yield Fault(
                task.line, f"{quoted(task.id)} is the id of the task on line {other.line} too. Give it another."
            )


def _unknown(graph: TaskGraph, numbers: Numbers) -> Iterator[Fault]:
    for task in graph.tasks:
        for each in task.depends_on:
            line = task.line_of(TaskField.DEPENDS_ON, each)
            if each == task.id:
                yield Fault(line, f"{task.id} depends on itself. Take that out.")
            elif each not in numbers:
                yield Fault(
                    line, f"{task.id} depends on {each}, which is no task of this graph. {_meant(each, numbers)}"
                )


def _meant(ident: StoryId, numbers: Numbers) -> str:
    upper = StoryId(ident.upper())
    return f"Write {upper}." if upper in numbers else "Add that task, or take the id out."


def _circles(graph: TaskGraph, needs: Needs) -> Iterator[Fault]:
    for circle in circles(needs):
        tasks = [graph.tasks[number] for number in circle]
        if len(tasks) > 2:
            way = " → ".join(task.id for task in tasks)
            line = tasks[0].line_of(TaskField.DEPENDS_ON, tasks[1].id)
            yield Fault(line, f"these tasks depend on each other in a circle: {way}. Take one of the dependencies out.")


def _unfinished(graph: TaskGraph) -> Iterator[Fault]:
    unread = {fault.line for fault in graph.faults}
    for task in graph.tasks:
        if not task.output_files:
            text = f"{task.id} has no output_files. List what it may write, its test files too."
            yield Fault(task.line_of(TaskField.OUTPUT_FILES), text)
        if not task.contracts and not task.exempt and task.line_of(TaskField.CONTRACT_STATUS) not in unread:
            text = (
                f"{task.id} has no test contract. Add a row for each behaviour (TC-1, …), or write: "
                "**Test contract status:** EXEMPT (the reason)."
            )
            yield Fault(task.line_of(TaskField.CONTRACT), text)


def _not_theirs(graph: TaskGraph, ours: tuple[str, ...]) -> Iterator[Fault]:
    """The graph and what is written beside it say what Damascus knows: a task that could write them could forge it."""
    for task in graph.tasks:
        for each in task.output_files:
            if hit := covered(each, ours):
                text = (
                    f"{task.id} may not write {quoted(hit)}, which is Damascus's to write. Take it out of output_files"
                )
                more = "." if each == hit else f": name narrower paths than {quoted(each)}."
                yield Fault(task.line_of(TaskField.OUTPUT_FILES, each), text + more)


def _batches(graph: TaskGraph, numbers: Numbers) -> Iterator[Fault]:
    """Tasks of a batch run side by side: none may need another one of it, nor write the same files."""
    batch_of: dict[StoryId, int] = {}
    lines = graph.batch_lines or (1,) * len(graph.batches)
    for place, (line, batch) in enumerate(zip(lines, graph.batches, strict=True)):
        yield from _listed(line, batch, numbers)
        for each in batch:
            if batch_of.setdefault(each, place) != place:
                text = f"{each} is in batch {batch_of[each] + 1} and in batch {place + 1}. Keep one of them."
                yield Fault(line, text)
        yield from (Fault(line, f"{_in_words(each)} {TOGETHER}") for each in _shared_in(batch, graph, numbers))
    yield from _too_early(graph, batch_of, lines)


def _too_early(graph: TaskGraph, batch_of: Mapping[StoryId, int], lines: Sequence[int]) -> Iterator[Fault]:
    for task in graph.tasks:
        here = batch_of.get(task.id)
        for need in task.depends_on:
            if here is not None and need != task.id and batch_of.get(need, -1) >= here:
                text = f"{task.id} is in a batch before or with {need}, on which it depends. Move it to a later one."
                yield Fault(lines[here], text)


def _listed(line: int, batch: Sequence[StoryId], numbers: Numbers) -> Iterator[Fault]:
    for each in batch:
        if each not in numbers:
            yield Fault(line, f"the Parallelism Map names {each}, which is no task of this graph. Take it out.")


def _shared_in(batch: Sequence[StoryId], graph: TaskGraph, numbers: Numbers) -> Iterator[Shared]:
    tasks = [graph.tasks[number] for number in sorted(numbers[each] for each in batch if each in numbers)]
    return shared_files(tasks, [1 << number for number in range(len(tasks))])


def _side_by_side(graph: TaskGraph, needs: Needs) -> Iterator[Fault]:
    """`can_parallel: true` is a promise to all others that say so and come neither before nor after."""
    bound = sum(1 << number for number, task in enumerate(graph.tasks) if not task.can_parallel)
    pairs = zip(ordered_with(needs), graph.tasks, strict=True)
    apart = [ordered | bound if task.can_parallel else EVERYBODY for ordered, task in pairs]
    for each in shared_files(graph.tasks, apart):
        yield Fault(each.task.line_of(TaskField.OUTPUT_FILES, each.path), f"{_in_words(each)} {ORDER}")


def _in_words(each: Shared) -> str:
    return f"{each.task.id} and {each.other.id} both write {each.path}"
