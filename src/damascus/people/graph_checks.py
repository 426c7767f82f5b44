"""What main says of a task graph before it is added: the faults that `damascus tasks add` finds, without a queue."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from damascus.git.repository import Repository
from damascus.people.graph_specs import specs_of
from damascus.people.spec_files import Ground
from damascus.tasks.task import Fault, TaskGraph


def faults_on_main(top: Path, environ: Mapping[str, str], graph: TaskGraph, path: str) -> Sequence[Fault]:
    """By line. `top` is the repository's folder, `path` the graph's place in it."""
    ground = Ground.of_clone(Repository.discover(top), environ)
    return sorted(specs_of(ground, graph, path).faults)
