"""The tasks of a graph as stories to be queued: their specs, Test Commands and scopes, by what main says."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache

from damascus.domain.errors import UsageError
from damascus.domain.scope import GLOB_CHARS, Scope, parse_scope
from damascus.domain.tasks import TaskType, beside
from damascus.people.spec_files import Ground
from damascus.stacks.stack import BaseFiles
from damascus.stacks.suite import suite_of
from damascus.store.queueing import NewStory
from damascus.tasks.fields import TaskField
from damascus.tasks.specs import parsed, spec_of
from damascus.tasks.task import Fault, Task, TaskGraph
from damascus.tasks.task_commands import TestGround, command_of
from damascus.telling.phrases import listed

CONTRACTED = (TaskType.API, TaskType.DATA)


@dataclass(frozen=True)
class GraphSpecs:
    """A story for each task that has one; `faults` say why others have none."""

    stories: tuple[NewStory, ...]
    faults: tuple[Fault, ...]
    warnings: tuple[str, ...]


def specs_of(ground: Ground, graph: TaskGraph, path: str) -> GraphSpecs:
    where, folders = test_ground(ground, graph.tasks), _folders(ground, graph.tasks)
    stories, faults = [], []
    for place, task in enumerate(graph.tasks):
        made = _story(task, path, where, folders, beside(path, ground.config.tasks.graph))
        if isinstance(made, Fault):
            faults.append(made)
        else:
            stories.append(replace(made, place=place))
    return GraphSpecs(tuple(stories), tuple(faults), tuple(warnings(ground, graph.tasks)))


def _story(task: Task, path: str, where: TestGround, folders: set[str], ours: tuple[str, ...]) -> NewStory | Fault:
    command = command_of(task, where)
    if isinstance(command, Fault):
        return command
    spec = parsed(task, path, command)
    try:
        scope = _scope(spec.scope, folders, ours)
    except UsageError as err:
        return Fault(task.line_of(TaskField.OUTPUT_FILES), f"{task.id}: {err}")
    return NewStory(replace(spec, scope=scope), spec_of(task, path, command), path, file=f"{path}:{task.line}")


def _scope(scope: Scope | None, folders: set[str], ours: tuple[str, ...]) -> Scope:
    """A folder of main that was written without its slash is a folder; the graph and what is beside it are ours."""
    patterns = scope.patterns if scope else ()
    return parse_scope([f"{each}/" if each in folders else each for each in patterns], protected=ours)


def _folders(ground: Ground, tasks: Sequence[Task]) -> set[str]:
    plain = {
        each for task in tasks for each in task.output_files if not each.endswith("/") and not GLOB_CHARS.search(each)
    }
    return {each for each, kind in ground.kinds(sorted(plain)).items() if kind == "tree"}


def test_ground(ground: Ground, tasks: Sequence[Task]) -> TestGround:
    """Main, and what the graph's tasks are going to add to it."""
    config, tip = ground.config, ground.repository.tip(ground.main)
    here = {each for each in ground.listing() if each}
    later = here | {each for task in tasks for each in (*task.output_files, *(one.file for one in task.contracts))}

    @cache
    def read(path: str) -> bytes | None:
        return ground.repository.git.out("cat-file", "blob", f"{tip}:{path}").encode() if path in here else None

    files = BaseFiles(later, read, f"{config.test.command}\n{config.workspace.setup}")
    return TestGround(files, suite_of(config.test, here, read).command, suite_of(config.test, later, read).command)


def warnings(ground: Ground, tasks: Sequence[Task]) -> list[str]:
    """What these tasks need on main before they can become DONE, and main does not have."""
    said = []
    api = [str(task.id) for task in tasks if task.type in CONTRACTED]
    if api and not ground.config.contracts.paths:
        said.append(
            f"{listed(api)}: of type api or data, and no contract is named on {ground.main}. They can't become DONE "
            "before [contracts] in damascus.toml names one (docs/contracts.md)."
        )
    ui = [str(task.id) for task in tasks if task.type is TaskType.UI]
    if ui and not ground.config.visual.pages:
        said.append(
            f"{listed(ui)}: of type ui, and no page is named on {ground.main}. They can't become DONE before [visual] "
            "pages in damascus.toml names one (docs/visual.md)."
        )
    return said
