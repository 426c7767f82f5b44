"""Run a command as a supervised step: in its own session, logged, limited, and nothing of it left behind.

The command's parent is a keeper (keeper.py). Here is the worker's side: it streams the output, watches the clock
and `stopping`, and waits for the keeper's word that the command and all that it started are gone.
"""

import os
import selectors
import signal
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import IO

from damascus.domain.errors import TransientError
from damascus.domain.failures import transient_os_error
from damascus.system import procfs
from damascus.system.hostid import boot_id
from damascus.system.keeper import KILL, TERMINATE
from damascus.system.output import Output, Stream, output_to
from damascus.system.sandbox import Cage
from damascus.system.spawner import KeeperLine, give_back, launch
from damascus.system.talk import Ear, Talk, TalkLine

TOKEN = "DAMASCUS_STEP_TOKEN"
CANNOT_START = 127
GRACE = 5.0
SECOND_GRACE = 1.0
POLL = 0.1
END_LIMIT = 3.0
LOST = "the process that kept this command was killed; all that the command had started was ended"


@dataclass(frozen=True)
class Finished:
    """How a command ended. `exit_code` is None when it was ended by us, negative when a signal ended it."""

    exit_code: int | None
    timed_out: bool
    stopped: bool
    seconds: float
    tail: str


@dataclass(frozen=True)
class Identity:
    """Enough to recognise a command, its keeper and its descendants later, from another process."""

    pid: int
    pgid: int
    start_time: int
    boot_id: str
    token: str
    keeper: int = 0
    keeper_start: int = 0

    def as_mapping(self) -> dict[str, object]:
        return asdict(self)

    @classmethod
    def of(cls, recorded: Mapping[str, object]) -> "Identity | None":
        """From a journal's record; None when the record is not one of ours."""
        known = {each.name: recorded[each.name] for each in fields(cls) if each.name in recorded}
        try:
            return cls(**known)  # type: ignore[arg-type]
        except TypeError:
            return None


def never() -> bool:
    return False


def ignore(identity: Identity) -> None:
    """Nobody wants to know."""


def shell(command: str) -> list[str]:
    """For commands that are shell text, as a Test Command is."""
    return ["/bin/sh", "-c", command]


def run(
    argv: Sequence[str],
    *,
    cwd: Path,
    env: Mapping[str, str],
    log: Path,
    timeout: float,
    stdin: bytes = b"",
    stopping: Callable[[], int] = never,
    started: Callable[[Identity], None] = ignore,
    log_limit: int = 20_000_000,
    merge_stderr: bool = True,
    cage: Cage | None = None,
    talk: Talk | None = None,
) -> Finished:
    """Run `argv` to its end. `env` is its whole environment (and a token of ours), `cage` what it may touch.

    At the time-out, or when `stopping()` is true: SIGTERM to its group, SIGKILL after 5 s (1 s when it was timed
    out already; at once when `stopping()` answers 2). Apart from stdout, stderr goes to `<log>.stderr`.
    With a `talk` its stdin and stdout are sockets, and `talk` is told each line.
    Raises TransientError for trouble of the machine's; a command that can't be started is exit code 127.
    """
    begun = time.monotonic()
    token = uuid.uuid4().hex
    request = {"cwd": str(cwd), "token": token, **_enclosed(argv, cwd, {**env, TOKEN: token}, cage)}
    first = Stream if talk is None else lambda capped, tail: Ear(capped, tail, talk.heard)
    try:
        with ExitStack() as stack:
            output = stack.enter_context(output_to(log, log_limit, merge_stderr=merge_stderr, first=first))
            said = TalkLine() if talk is not None else None
            given = said.theirs if said else stack.enter_context(_as_file(stdin)).fileno()
            if said:
                stack.callback(said.close)
            line = launch(request, (given, *output.ends))
            output.release()
            step = RunningCommand(line, token, begun + timeout, stopping, started)
            with step.ended_in_any_case():
                if said and talk:
                    said.release()
                    talk.begin(said)
                step.supervise(output, said)
            exit_code = step.exit_code(output)
            return Finished(exit_code, step.timed_out, step.stopped, time.monotonic() - begun, output.drain())
    except OSError as err:
        if transient_os_error(err):
            raise TransientError(f"running {argv[0]}: {err}") from err
        raise


def _enclosed(argv: Sequence[str], cwd: Path, env: Mapping[str, str], cage: Cage | None) -> dict[str, object]:
    """The request's command as it is started: bare, or inside a cage."""
    if cage is None:
        return {"argv": [*argv], "env": dict(env)}
    return cage.enclose(argv, cwd, env)


@contextmanager
def _as_file(data: bytes) -> Iterator[IO[bytes]]:
    """A file, not a pipe: a command that doesn't read its stdin, or only later, holds nobody up."""
    if not data:
        with open(os.devnull, "rb") as nothing:
            yield nothing
        return
    memory = hasattr(os, "memfd_create")
    with os.fdopen(os.memfd_create("stdin"), "w+b") if memory else tempfile.TemporaryFile() as file:
        file.write(data)
        file.flush()
        file.seek(0)
        yield file


class RunningCommand:
    """One running command, seen from the worker."""

    def __init__(
        self,
        line: KeeperLine,
        token: str,
        deadline: float,
        stopping: Callable[[], int],
        started: Callable[[Identity], None],
    ) -> None:
        self.line = line
        self.identity = Identity(0, 0, 0, boot_id(), token, **line.keeper)  # type: ignore[arg-type]
        self.timed_out = False
        self.stopped = False
        self._deadline = deadline
        self._stopping = stopping
        self._started = started
        self._over = False
        self._sure = False
        self._status: int | None = None
        self._error: OSError | None = None
        self._next_look = 0.0
        self._kill_at: float | None = None
        self._give_up_at: float | None = None

    def supervise(self, output: Output, said: TalkLine | None = None) -> None:
        """Stream, watch and wait until the keeper has said the last word, or can't any more."""
        with selectors.DefaultSelector() as selector:
            selector.register(self.line, selectors.EVENT_READ, self._hear)
            for stream in output.streams:
                selector.register(stream, selectors.EVENT_READ, stream.take)
            while not self._over:
                if said and said.waits:
                    said.push()
                for key, _ in selector.select(self._patience()):
                    if not key.data():
                        selector.unregister(key.fileobj)
                self._look()

    def _hear(self) -> bool:
        said = self.line.hear()
        if said is None:
            self._over = True
            return False
        for facts in said:
            self._note(facts)
        return True

    def _note(self, facts: Mapping[str, object]) -> None:
        match facts:
            case {"pid": int(pid), "start": int(start)}:
                known = asdict(self.identity)
                self.identity = Identity(**(known | {"pid": pid, "pgid": pid, "start_time": start}))
                self._started(self.identity)
            case {"errno": errno, "why": str(why)}:
                self._error = OSError(errno if isinstance(errno, int) else 0, why)
                self._over = self._sure = True
            case {"status": status, "sure": sure}:
                self._status = status if isinstance(status, int) else None
                self._over, self._sure = True, sure is True

    def _patience(self) -> float:
        return max(0.0, min(POLL, self._deadline - time.monotonic())) if self._kill_at is None else POLL

    def _look(self) -> None:
        """Is it time to end it, and how?"""
        now = time.monotonic()
        due = self._next_look if self._kill_at is not None else min(self._next_look, self._deadline)
        if self._over or now < due:
            return
        self._next_look = now + POLL
        asked = int(self._stopping())
        if self._kill_at is None and (asked or now >= self._deadline):
            self._terminate(now, asked)
        elif self._kill_at is not None and asked and self.timed_out:
            self._kill_at = min(self._kill_at, now + SECOND_GRACE)
        if self._kill_at is not None and (asked > 1 or now >= self._kill_at):
            self._kill(now)

    def _terminate(self, now: float, asked: int) -> None:
        self.timed_out = now >= self._deadline
        self.stopped = not self.timed_out
        self._kill_at = now + GRACE
        if asked <= 1:
            self.line.order(TERMINATE)

    def _kill(self, now: float) -> None:
        if self._give_up_at is None:
            self._give_up_at = now + END_LIMIT
            self.line.order(KILL)
        # A keeper that was stopped (SIGSTOP) can't answer.
        self._over = now >= self._give_up_at

    @contextmanager
    def ended_in_any_case(self) -> Iterator[None]:
        """Whatever is raised here, by a full disk or by a callback: the command does not go on alone."""
        try:
            yield
        finally:
            untouched = self._over and self._kill_at is None
            if not self._over:
                self._end_now()
            if untouched and self._sure:
                give_back(self.line)
            else:
                self.line.close()
            if not self._sure:
                end_leftovers(self.identity)

    def _end_now(self) -> None:
        self.line.order(KILL)
        self.line.sock.settimeout(END_LIMIT)
        try:
            while not self._sure and (said := self.line.hear()) is not None:
                self._sure = any(facts.get("sure") is True for facts in said)
        except TimeoutError:
            return

    def exit_code(self, output: Output) -> int | None:
        if self._error is not None:
            if transient_os_error(self._error):
                raise self._error
            output.note(str(self._error.strerror))
            return CANNOT_START
        if self.timed_out or self.stopped:
            return None
        if self._status is None:
            output.note(LOST)
            return -signal.SIGKILL
        return os.waitstatus_to_exitcode(self._status)


def end_leftovers(identity: Identity) -> int:
    """End what a dead worker's command left, and wait until it is gone (2 s at most); how many were ended.

    A process is known by PID *and* start time *and* boot, by the token in its environment, by a session whose
    leader or member is so known, or by its ancestors. A PID that was given to somebody else is never signalled.
    """
    if identity.boot_id != boot_id():
        return 0
    ended: set[tuple[int, int]] = set()
    deadline = time.monotonic() + END_LIMIT
    while True:
        processes = procfs.table()
        keeper = _keeper(identity, processes)
        leftovers = _belonging(identity, processes)
        if keeper and not _keeper(identity, {keeper.pid: procfs.process(keeper.pid) or keeper}):
            continue  # it took another step while we looked: some of what we saw may be that one's
        ended |= {(each.pid, each.start) for each in leftovers if procfs.kill(each)}
        if not leftovers and keeper is None:
            return len(ended)
        if time.monotonic() > deadline:
            # Only now, and not before what it keeps: its orphans would be nobody's.
            return len(ended) + (keeper is not None and procfs.kill(keeper))
        time.sleep(0.002)


def _belonging(identity: Identity, processes: Mapping[int, procfs.Process]) -> list[procfs.Process]:
    """All but the keeper itself: it ends when nothing is left to keep."""
    entry = f"{TOKEN}={identity.token}"
    known = {
        each.pid
        for each in processes.values()
        if each.start >= identity.start_time and not each.zombie and procfs.started_with(each.pid, entry)
    }
    if _known(processes, identity.pid, identity.start_time):
        known.add(identity.pid)
    if identity.pid and any(processes[pid].session == identity.pid for pid in known):
        known |= {each.pid for each in processes.values() if each.session == identity.pid}
    if _keeper(identity, processes):
        known.add(identity.keeper)
    known |= {each.pid for each in procfs.descendants(known, processes.values())}
    spared = {identity.keeper, os.getpid()}
    return [processes[pid] for pid in known - spared if not processes[pid].zombie]


def _keeper(identity: Identity, processes: Mapping[int, procfs.Process]) -> procfs.Process | None:
    """The keeper, if it is still this step that it keeps."""
    found = _known(processes, identity.keeper, identity.keeper_start)
    return found if found and found.name == procfs.short_name(identity.token) else None


def _known(processes: Mapping[int, procfs.Process], pid: int, start: int) -> procfs.Process | None:
    found = processes.get(pid)
    return found if found and found.start == start else None
