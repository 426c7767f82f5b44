"""A task graph checked before anything is queued: needs the file alone, no project and no database."""

import gc
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path

from damascus.domain.errors import UsageError
from damascus.domain.scope import SETTINGS_FILE
from damascus.tasks.check import check_graph
from damascus.tasks.graph import LARGEST_GRAPH, Fault, TaskGraph, read_graph

FaultsOnMain = Callable[[Path, Mapping[str, str], TaskGraph, str], Sequence[Fault]]


@dataclass(frozen=True)
class CheckedGraph:
    """A graph, and all that is wrong with it."""

    name: str
    graph: TaskGraph
    faults: Sequence[Fault]

    @property
    def first(self) -> list[str]:
        """The tasks that can start at once."""
        return [task.id for task in self.graph.tasks if not task.depends_on]


def check(file: Path) -> CheckedGraph:
    """By its own text alone."""
    raw = read_graph_file(file)
    with _nothing_collected():
        graph = read_graph(raw, str(file))
        return CheckedGraph(str(file), graph, check_graph(graph, _place(file)[1]))


def check_here(file: Path, environ: Mapping[str, str]) -> CheckedGraph:
    """And, in the repository of a project, by what its main says, as `damascus tasks add` does."""
    found = check(file)
    top, path = _place(file)
    if found.faults or top is None or not (top / SETTINGS_FILE).is_file():
        return found
    # Store and git: a graph by itself is read in less time than these are imported.
    on_main: FaultsOnMain = import_module("damascus.people.graph_checks").faults_on_main
    return replace(found, faults=on_main(top, environ, found.graph, path))


def _place(file: Path) -> tuple[Path | None, str]:
    """The repository's folder, and the graph's place in it; by itself it lies at the top of one."""
    whole = file.resolve()
    top = next((folder for folder in whole.parents if (folder / ".git").exists()), None)
    return top, whole.relative_to(top).as_posix() if top else whole.name


@contextmanager
def _nothing_collected() -> Iterator[None]:
    """Thousands of small objects, all of which stay: to look for rubbish among them takes a third of the time."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()


def read_graph_file(file: Path) -> bytes:
    """No more of it than a graph may have; a pipe or a device could keep us waiting."""
    if file.exists() and not file.is_file():
        raise UsageError(f"{file} is no file. Name a task graph (docs/task-graph.md).")
    try:
        with file.open("rb") as opened:
            return opened.read(LARGEST_GRAPH + 1)
    except OSError as err:
        raise UsageError(
            f"{file} can't be read: {err.strerror or err}. Name a task graph (docs/task-graph.md)."
        ) from None
