"""Command over one running agent: signs come in from any thread, `end` answers when it must be ended.

The rules are domain/oversight.py's. Here are what they need of the world: a clock, a lock, a look at the workspace for
agents that have no stream, and the telling: warnings, extensions and what was used are written by the heartbeat, never
by who asks `end`, so that a database that is away holds no agent up.
"""

import os
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from damascus.domain.events import Event, EventKind
from damascus.domain.oversight import Decision, Observed, StepLimits, decide, follow
from damascus.domain.ports import AgentRun, Usage
from damascus.domain.signs import EndedBy, Sign
from damascus.domain.verdict import Substate
from damascus.engine.agent_step.spending import Purse
from damascus.engine.run import Run
from damascus.store.db import Connection
from damascus.store.journal import write_events
from damascus.store.leases import assert_fence
from damascus.store.settle import write_record
from damascus.system.output import stderr_log

LOOK = 5.0
"""Seconds between two looks at the workspace, and between two records of what was used."""
LOOKS = 4
"""So many looks fit into the shortest limit that rests on them."""
MOST_ENTRIES = 5000
"""What one look at a workspace goes through at most: milliseconds, however many files there are."""
SUBSTATES = {
    EventKind.AGENT_WARNED: Substate.RUNNING_OUT_OF_TIME,
    EventKind.AGENT_EXTENDED: Substate.WORKING_IN_EXTRA_TIME,
}
FINAL = (EndedBy.DENIED, EndedBy.HOOK)
"""What is true of a step even if its agent ended by itself before we could end it."""


@dataclass(frozen=True)
class Traces:
    """What an agent leaves on the disk: the newest change in its workspace, the size of all that it said."""

    newest: int
    entries: int
    said: int


class StepOverseer:
    """Implements ports.Overseer for one agent step."""

    def __init__(
        self,
        limits: StepLimits,
        look: Callable[[], Traces],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.limits = limits
        self.ended = EndedBy.ITSELF
        self._look = look
        self._clock = clock
        self._lock = threading.Lock()
        self._seen = Observed.begin(limits, clock())
        self._news: list[Event] = []
        self._traces = look()
        shortest = min(each for each in (limits.progress, limits.idle, limits.first_write) if each)
        self._every = min(LOOK, shortest / LOOKS)
        self._look_at = clock() + self._every

    def saw(self, sign: Sign, **facts: object) -> None:
        with self._lock:
            self._seen = self._seen.saw(sign, self._clock(), facts)

    def end(self) -> EndedBy:
        """Asked ten times a second: a look at the disk every 5 s, else a few comparisons."""
        if self.ended:
            return self.ended
        self._look_around()
        with self._lock:
            now = self._clock()
            decision = decide(self._seen, self.limits, now)
            self._seen = follow(self._seen, decision)
            self._news += self._events(decision, now)
            self.ended = self.ended or decision.end
            return self.ended

    def _look_around(self) -> None:
        """An agent without a stream shows itself by what it writes; the disk is read outside the lock."""
        with self._lock:
            now, before = self._clock(), self._traces
            if now < self._look_at:
                return
            self._look_at = now + self._every
        found = self._look()
        with self._lock:
            self._traces = found
        if (found.newest, found.entries) != (before.newest, before.entries):
            self.saw(Sign.WRITE)
        if found.said != before.said:
            self.saw(Sign.OUTPUT)

    def _events(self, decision: Decision, now: float) -> list[Event]:
        told: list[Event] = []
        if decision.warn:
            told.append((EventKind.AGENT_WARNED, {"message": decision.warn}))
        if decision.extended_to is not None:
            ago = now - self._seen.last_progress
            more = round(decision.extended_to - now)
            told.append((EventKind.AGENT_EXTENDED, {"seconds": more, "message": f"progress was seen {ago:.0f} s ago"}))
        return told

    # ── what is known of it ───────────────────────────────────────────────────────────────────────────

    @property
    def seen(self) -> Observed:
        with self._lock:
            return self._seen

    def news(self) -> tuple[Event, ...]:
        """Warnings and extensions that nobody has told yet."""
        with self._lock:
            news, self._news = self._news, []
        return tuple(news)

    def verdict(self, done: AgentRun) -> EndedBy:
        """Why this run was ended, by us or by its adapter; ITSELF for one that came to its own end."""
        by_itself = done.exit_code is not None
        final = decide(self.seen, self.limits, self._clock()).end
        if final in FINAL:
            return final
        return done.ended or (EndedBy.ITSELF if by_itself else self.ended)

    def resets_in(self) -> float | None:
        """Seconds until the provider's rate limit ends, where it said so."""
        return self.seen.resets_in(self._clock())

    def usage(self, done: AgentRun | None = None) -> Usage:
        """The larger of what was seen and what the adapter adds up at the end."""
        seen, told = self.seen.usage, done.usage if done else Usage()
        return Usage(**{name: max(getattr(seen, name), getattr(told, name)) for name in Usage.model_fields})


def traces(workspace: Path, transcript: Path, most: int = MOST_ENTRIES) -> Traces:
    """One look: bounded, never into .git, and never an error, since the agent may remove what we look at."""
    newest = entries = 0
    folders = [str(workspace)]
    while folders and entries < most:
        try:
            with os.scandir(folders.pop()) as found:
                for entry in found:
                    entries += 1
                    if entry.name == ".git":
                        continue
                    try:
                        newest = max(newest, entry.stat(follow_symlinks=False).st_mtime_ns)
                        if entry.is_dir(follow_symlinks=False):
                            folders.append(entry.path)
                    except OSError:
                        continue
                    if entries >= most:
                        break
        except OSError:
            continue
    return Traces(newest, entries, _size(transcript) + _size(stderr_log(transcript)))


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


class Telling:
    """Writes what the overseer has to tell: called by the heartbeat, and once more when the agent is gone."""

    def __init__(self, run: Run, overseer: StepOverseer, purse: Purse) -> None:
        self._run = run
        self._overseer = overseer
        self._purse = purse
        self._record_at = 0.0

    def __call__(self) -> None:
        self._tell_news()
        if time.monotonic() >= self._record_at:
            self._record_at = time.monotonic() + LOOK
            self._purse.observe()

    def finish(self) -> None:
        """The agent is gone: all that is left to tell, however short ago something was told."""
        self._tell_news()
        self._purse.observe()

    def _tell_news(self) -> None:
        if news := self._overseer.news():
            self._write(news)

    def _write(self, news: tuple[Event, ...]) -> None:
        item = self._run.item
        substate = SUBSTATES[news[-1][0]]

        def work(c: Connection) -> None:
            assert_fence(c, item.id, item.fence)
            write_events(c, item.project_id, item.id, news)
            write_record(c, item.id, {"substate": substate})

        self._run.tools.db.run(work)
