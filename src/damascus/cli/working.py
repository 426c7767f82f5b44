"""What `run` and `worker` share: a worker in this thread with its display, both meanings of Ctrl-C, the last words."""

import os
import re
import signal
import sys
import time
from collections.abc import Callable
from datetime import datetime
from types import FrameType

from damascus.app import App, Project
from damascus.assembly import Choice, make_worker
from damascus.cli.live import Progress
from damascus.cli.say import next_step, say, wrapped
from damascus.domain.errors import DamascusError
from damascus.engine.worker import Worker
from damascus.people.overview import look
from damascus.people.summary import last_words
from damascus.telling.phrases import plural

TICK = 0.25
OVER = 60.0
"""Seconds that a trouble must be gone before it is told anew."""
INTERRUPTED = 130


def work_queue(app: App, project: Project, choice: Choice, forge: str) -> int:
    """Until nothing can move, or Ctrl-C; `forge` is what the title calls it. The exit code."""
    worker = make_worker(app, project, choice)
    for note in worker.notes:
        print(f"note: {note}", file=sys.stderr)
    title = f"{project.row.name} · {plural(worker.pace.slots, 'slot')} · {_played_by(worker)} · {forge}"
    return _ended(app, project, worker, work(app, project, worker, title))


def _played_by(worker: Worker) -> str:
    agent = worker.tools.agent
    if agent is None:
        return "no agent"
    level = agent.confinement
    return f"{agent.name} agent, {level if level == 'unconfined' else f'confined by {level}'}"


def work(app: App, project: Project, worker: Worker, title: str) -> datetime:
    """Run the worker in this thread, with the progress display and both meanings of Ctrl-C; when it began."""
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


def _throttled(tick: Callable[[], None], worker: Worker) -> Callable[[], None]:
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


def _catch_signals(worker: Worker) -> Callable[[], None]:
    def asked(number: int, frame: FrameType | None) -> None:
        worker.stop()
        if worker.stop_requests == 1:
            print("stopping: agents are stopped and their work saved (again to stop at once)", file=sys.stderr)
        else:
            os._exit(130)

    before = {number: signal.signal(number, asked) for number in (signal.SIGINT, signal.SIGTERM)}

    def restore() -> None:
        for number, handler in before.items():
            signal.signal(number, handler)

    return restore


def _ended(app: App, project: Project, worker: Worker, began: datetime) -> int:
    """The last words, and the exit code."""
    for told in worker.unwritten:
        print(f"note: {told}", file=sys.stderr)
    words = last_words(app, project, worker, began)
    say(words.said)
    for line in words.alarms:
        say(wrapped(f"! {line}"))
    for line in words.lines:
        say(wrapped(line, "  "))
    next_step(words.following)
    if worker.stop_requests:
        return INTERRUPTED
    if worker.outdated:
        raise DamascusError(worker.outdated)
    return 1 if words.needs_you else 0
