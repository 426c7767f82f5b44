"""damascus run: work the current folder's project."""

import re
import signal
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime
from types import FrameType
from typing import TYPE_CHECKING, Annotated

import typer

from damascus.cli import claims
from damascus.cli.flags import AgentCommand, AgentKind, Slots, UntilIdle
from damascus.cli.opened import open_app, open_project
from damascus.cli.say import next_step, say, wrapped
from damascus.cli.words import plural
from damascus.domain.errors import DamascusError, TransientError

if TYPE_CHECKING:
    from damascus.app import App, Project
    from damascus.assembly import Choice
    from damascus.engine.worker import Worker

TICK = 0.25
OVER = 60.0
"""Seconds that a trouble must be gone before it is told anew."""


def run(
    until_idle: UntilIdle = False,
    slots: Slots = None,
    agent: AgentKind = None,
    agent_command: AgentCommand = None,
    require_sandbox: Annotated[
        bool, typer.Option("--require-sandbox", help="Refuse to run where agents can't be confined.")
    ] = False,
) -> int:
    """Work the queue of this project until Ctrl-C (once: stop agents and save their work; twice: at once).

    Exit 0 when every story is done, 1 when one is blocked or waits for a file of yours.

    \b
    Example:  damascus run --until-idle --agent command --agent-command ./my-agent
    """
    from damascus.assembly import Choice

    app = open_app()
    project = open_project(app)
    refuse_config_off_main(project)
    _say_found_suite(project)
    choice = Choice(slots, agent, agent_command, until_idle, require_sandbox)
    worker = start(app, project, choice)
    forge = f"{project.config.forge.kind} forge"
    title = f"{project.row.name} · {plural(worker.pace.slots, 'slot')} · {played_by(worker)} · {forge}"
    began = work(app, project, worker, title)
    return ended(app, project, worker, began)


def _say_found_suite(project: "Project") -> None:
    """A damascus.toml that does not name the suite: what is run without anyone having written it is said."""
    settings = project.settings
    if settings.suite_found:
        found = f"every candidate passes `{settings.suite}` too, found from {settings.main}'s files"
        print(f"note: {found}; write it as command under [test] in damascus.toml, or none", file=sys.stderr)


def played_by(worker: "Worker") -> str:
    agent = worker.tools.agent
    if agent is None:
        return "no agent"
    level = agent.confinement
    return f"{agent.name} agent, {level if level == 'unconfined' else f'confined by {level}'}"


def start(app: "App", project: "Project", choice: "Choice") -> "Worker":
    from damascus.assembly import make_worker

    worker = make_worker(app, project, choice)
    for note in worker.notes:
        print(f"note: {note}", file=sys.stderr)
    return worker


def refuse_config_off_main(project: "Project") -> None:
    """The rules come from main: without damascus.toml there nothing is run."""
    if project.settings.on_main:
        return
    main = project.row.main_branch
    raise DamascusError(
        f"damascus.toml is not on {main} yet, and the rules come from {main}. Commit it there:\n"
        f"git switch {main} && git add damascus.toml && git commit -m 'Set up Damascus' -- damascus.toml"
    )


def work(app: "App", project: "Project", worker: "Worker", title: str) -> datetime:
    """Run the worker in this thread, with the progress display and both meanings of Ctrl-C; when it began."""
    from damascus.cli.live import Progress
    from damascus.cli.status import look

    began = datetime.now().astimezone()
    asks = project.config.writes.gate == "person"
    with Progress(lambda: look(app, project, since=began), title=title, table=not asks) as progress:
        restore = _catch_signals(worker)
        try:
            worker.run(_throttled(progress.tick, worker))
            progress.tick()
        finally:
            restore()
    return began


def _throttled(tick: Callable[[], None], worker: "Worker") -> Callable[[], None]:
    last = 0.0
    notes = _Notes()

    def perhaps() -> None:
        nonlocal last
        notes.look(worker.paused)
        if time.monotonic() - last >= TICK:
            tick()
            last = time.monotonic()

    return perhaps


class _Notes:
    """Why nothing new is begun, once: numbers that change and a load that falls for a moment are no news."""

    def __init__(self) -> None:
        self._told = ""
        self._seen = 0.0

    def look(self, trouble: str | None) -> None:
        now = time.monotonic()
        if trouble is None:
            self._told = "" if now - self._seen >= OVER else self._told
            return
        self._seen, kind = now, re.sub(r"[\d.]+", "", trouble)
        if kind != self._told:
            self._told = kind
            print(f"note: {trouble}", file=sys.stderr)


def _catch_signals(worker: "Worker") -> Callable[[], None]:
    def asked(number: int, frame: FrameType | None) -> None:
        worker.stop()
        if worker.stop_requests == 1:
            print("stopping: agents are stopped and their work saved (again to stop at once)", file=sys.stderr)
        else:
            import os

            os._exit(130)

    before = {number: signal.signal(number, asked) for number in (signal.SIGINT, signal.SIGTERM)}

    def restore() -> None:
        for number, handler in before.items():
            signal.signal(number, handler)

    return restore


def ended(app: "App", project: "Project", worker: "Worker", began: datetime) -> int:
    """The last words, and the exit code."""
    from damascus.cli.summary import summary
    from damascus.domain.verdict import ACTIVE

    found = app.database.all("count_by_phase", project=project.row.id)
    counts = {row["phase"]: row["n"] for row in found}
    done, blocked = counts.pop("done", 0), counts.get("blocked", 0)
    missing = _looked_at_main(app, project, worker)
    rest = ", ".join(f"{n} {phase}" for phase, n in sorted(counts.items()))
    say(f"{done - len(missing)} on {project.row.main_branch}" + (f", {rest}." if rest else "."))
    if missing:
        say(wrapped(f"! {claims.told(missing, project.row.main_branch)}."))
    asked = app.database.one("agent_asked", project=project.row.id)
    if asked:
        say(wrapped(f"! no agent can work: {asked['about']['fault']}"))
    held = app.database.all("held_landings", project=project.row.id)
    for row in held:
        way = row["wait_key"] or "your folder"
        say(wrapped(f"! {row['story_id']} is proved and can't land: {way} is in the way."))
    for line in summary(app, project, began):
        say(wrapped(line, "  "))
    needs_you = bool(blocked or missing or asked or held)
    if worker.stop_requests and any(counts.get(phase) for phase in ACTIVE):
        next_step("damascus run")
    else:
        next_step("damascus inbox" if needs_you else "damascus status --all")
    if worker.stop_requests:
        return 130
    if worker.outdated:
        raise DamascusError(worker.outdated)
    return 1 if needs_you else 0


def _looked_at_main(app: "App", project: "Project", worker: "Worker") -> dict[str, str]:
    """Done stories that main lacks at this moment; whoever is news gets its question in the inbox."""
    from damascus.engine.maintenance.landed import check_landed
    from damascus.engine.place import look_after

    for tools in (worker.tools, *worker.others.values()):
        look_after(tools)
        with suppress(DamascusError, TransientError):  # asked about already
            check_landed(tools)
    return claims.not_on_main(app, project)
