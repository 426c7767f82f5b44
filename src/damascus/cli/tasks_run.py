"""damascus tasks run: a command for several tasks at once, in clean checkouts of main."""

import shlex
from typing import Annotated

import typer

from damascus.cli.opened import open_app, open_project
from damascus.cli.say import as_json as print_json
from damascus.cli.say import aside, next_step, say
from damascus.cli.tables import table
from damascus.people.task_runs import RanForTasks, run_for_tasks
from damascus.telling.phrases import listed, one_line, plural


def run(
    tasks: Annotated[str, typer.Option("--tasks", metavar="A,B", help="The tasks, with commas.")],
    command: Annotated[list[str], typer.Argument(metavar="-- CMD…", help="The command and its words.")],
    as_json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
) -> int:
    """Run a command for several tasks at once, each in a clean checkout of main, confined as judged commands are.
    DAMASCUS_TASK names the task. Tasks that overlap by their output files are refused. Exit code 1 if one fails.

    \b
    Example:  damascus tasks run --tasks TASK-001,TASK-002 -- pnpm test
    """
    app = open_app()
    words = command[0] if len(command) == 1 else shlex.join(command)
    done = run_for_tasks(app, open_project(app), tasks.split(","), words, aside)
    if as_json:
        print_json(_record(done))
    else:
        _say(done)
    return 1 if done.failed else 0


def _record(done: RanForTasks) -> dict[str, object]:
    told = {"commit": done.commit, "command": done.command, "passed": not done.failed}
    return {**told, "tasks": [vars(one) for one in done.tasks]}


def _say(done: RanForTasks) -> None:
    rows = [(one.task, one.why, f"{one.seconds:.1f} s", one.log) for one in done.tasks]
    for line in table(("task", "result", "time", "output"), rows, lead=0):
        say(line)
    if done.failed:
        first = next(one for one in done.tasks if not one.passed)
        say(f"{listed(done.failed)} failed, so this batch has.")
        next_step(f"less {shlex.quote(first.log)}")
    else:
        say(f"{plural(len(done.tasks), 'task')} passed on main at {done.commit[:7]}: {one_line(done.command)}")
        next_step("damascus status")
