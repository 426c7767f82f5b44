"""`tasks run`: one command for several tasks at once, each on a clean checkout of main, its output kept (A15).

What two tasks would both write can't be judged side by side, so tasks that overlap are refused: by what they declare
(their scope), and by git's word (what they landed).
"""

import shlex
import shutil
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import combinations
from os import cpu_count
from pathlib import Path

from damascus.app import App, Project
from damascus.domain.errors import DamascusError, Stopping, TransientError, UsageError
from damascus.domain.ids import Sha
from damascus.domain.ports import EvidenceRunner, Job, TestRun
from damascus.engine.agent_step.sending import passed_on
from damascus.engine.tools import Tools, nothing
from damascus.store import owners
from damascus.store.owners import DeclaredScope
from damascus.telling.phrases import listed, one_line
from damascus.toolset import make_tools

FOLDER = "task-runs"
KEPT = 20
"""Calls whose output is kept."""
VARIABLE = "DAMASCUS_TASK"


@dataclass(frozen=True)
class RanForTask:
    """What the command came to for one task. `why` says what was not green."""

    task: str
    passed: bool
    why: str
    exit_code: int | None
    seconds: float
    log: str


@dataclass(frozen=True)
class RanForTasks:
    """One call, on one commit of main."""

    commit: Sha
    command: str
    tasks: list[RanForTask]

    @property
    def failed(self) -> list[str]:
        return [one.task for one in self.tasks if not one.passed]


def run_for_tasks(
    app: App, project: Project, names: Sequence[str], command: str, tell: Callable[[str, str], None]
) -> RanForTasks:
    """`tell` is called with a task and a sentence, as they begin and end."""
    if not command.strip():
        raise UsageError("there is no command. Name one behind --, for example: damascus tasks run --tasks A,B -- make")
    tasks = disjoint(app, project, names)
    stop = threading.Event()
    tools = make_tools(app, project, None, stop.is_set, nothing)
    tip, folder = tools.forge.main_tip(), _folder(project.folder / FOLDER)
    assert tools.runner is not None
    jobs = {task: _job(tools, tip, task, command, folder) for task in tasks}
    return RanForTasks(tip, command, _at_once(tools.runner, jobs, stop, tell))


# ── which may run at once ─────────────────────────────────────────────────────────────────────────────


def disjoint(app: App, project: Project, names: Sequence[str]) -> list[str]:
    """The tasks as the queue spells them, if no two of them have a file in common."""
    wanted = [name.strip() for name in names if name.strip()]
    if not wanted:
        raise UsageError("no task is named. Name them with commas, for example: --tasks TASK-1,TASK-2")
    known = owners.declared(app.database, project.row, wanted)
    for name in wanted:
        if name.lower() not in known:
            raise UsageError(f"there is no task {name!r} in this project. See them all: damascus status --all")
        if sum(other.lower() == name.lower() for other in wanted) > 1:
            raise UsageError(f"{name} is named twice. Name each task once.")
        if known[name.lower()].repo != project.row.repo_id:
            raise UsageError(f"{name} belongs to another repository of the project. Go there and run it again.")
    tasks = [known[name.lower()] for name in wanted]
    landed = owners.files_of(app.database, project.row.repo_id, wanted)
    for one, two in combinations(tasks, 2):
        _refuse_overlap(one, two, set(landed.get(one.story, ())), set(landed.get(two.story, ())))
    return [task.story for task in tasks]


def _refuse_overlap(one: DeclaredScope, two: DeclaredScope, first: set[str], second: set[str]) -> None:
    advice = "They go one after the other: run each by itself. Nothing was run."
    if both := one.scope.shared_with(two.scope):
        raise UsageError(f"{one.story} and {two.story} both name {listed(both, 3)} in their output files. {advice}")
    if both := sorted(first & second):
        raise UsageError(f"{one.story} and {two.story} have both changed {listed(both, 3)} on main. {advice}")
    for task, other, files in ((one, two, second), (two, one, first)):
        if both := sorted(path for path in files if task.scope.allows(path)):
            raise UsageError(
                f"{task.story} names {listed(both, 3)} in its output files, which {other.story} has changed on main. "
                f"{advice}"
            )


# ── running ───────────────────────────────────────────────────────────────────────────────────────────


def _job(tools: Tools, tip: Sha, task: str, command: str, folder: Path) -> Job:
    """The task's name is no secret: values of a job's own variables are masked in its output."""
    config = tools.read_config(tip)
    env, limit = passed_on(config.workspace.env), config.test.timeout_seconds
    words = f"export {VARIABLE}={shlex.quote(task)}\n{command}"
    return Job(tools.mirror.tree(tip), words, limit, f"task {task}", folder / f"{task}.log", env, fresh=True)


def _at_once(
    runner: EvidenceRunner, jobs: dict[str, Job], stop: threading.Event, tell: Callable[[str, str], None]
) -> list[RanForTask]:
    found: dict[str, RanForTask] = {}
    with ThreadPoolExecutor(min(len(jobs), max(2, cpu_count() or 1)), thread_name_prefix="task") as pool:
        begun = [pool.submit(_ran, runner, task, job, tell) for task, job in jobs.items()]
        try:
            for future in as_completed(begun):
                done = future.result()
                found[done.task] = done
                tell(done.task, f"{done.why} ({done.seconds:.1f} s)")
        except BaseException:  # Ctrl-C: what runs is ended, with all that it started
            stop.set()
            pool.shutdown(cancel_futures=True)
            raise
    return [found[task] for task in jobs]


def _ran(runner: EvidenceRunner, task: str, job: Job, tell: Callable[[str, str], None]) -> RanForTask:
    tell(task, f"begins: {one_line(job.command.partition(chr(10))[2])}")
    try:
        run = runner.run(job)
    except (DamascusError, TransientError, Stopping) as err:
        return RanForTask(task, False, f"not run: {one_line(str(err)) or 'stopped'}", None, 0.0, str(job.log))
    return RanForTask(task, run.green, _why(run), run.exit_code, run.seconds, run.log)


def _why(run: TestRun) -> str:
    if run.green:
        return f"passed{f', {run.passed} tests' if run.counted else ''}"
    if run.timed_out:
        return "failed: timed out"
    if run.counted and run.passed + run.failed == 0:
        return f"failed: no test ran (exit {run.exit_code})"
    return f"failed: exit {run.exit_code}" + (
        f", {run.failed} of {run.passed + run.failed} tests" if run.counted else ""
    )


def _folder(below: Path) -> Path:
    """A new one of this call's own; the oldest go."""
    folder = below / datetime.now(UTC).strftime("%Y%m%d-%H%M%S-%f")
    folder.mkdir(parents=True)
    for old in sorted(below.iterdir())[:-KEPT]:
        shutil.rmtree(old, ignore_errors=True)
    return folder
