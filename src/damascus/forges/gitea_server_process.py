"""The processes of a forge of ours: known by PID, start and boot, so that only they are ever ended."""

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from damascus.forges.gitea_server_programs import as_user
from damascus.system import procfs
from damascus.system.hostid import boot_id

END_LIMIT = 10.0
POLL = 0.02


@dataclass(frozen=True)
class Child:
    """A process in a session of its own. After a crash or a reboot its PID alone would prove nothing."""

    pid: int
    start: int
    boot: str

    @property
    def alive(self) -> bool:
        if self.boot != boot_id():
            return False
        if found := procfs.process(self.pid):
            return found.start == self.start and not found.zombie
        return self.start == 0 and _exists(self.pid)

    def end(self) -> None:
        """Asked first; what is left of it and of all that it started is killed."""
        family = self._family()
        if self.alive:
            _signal(self.pid, signal.SIGTERM)
            self._gone(END_LIMIT)
        self._kill(family)

    def kill(self) -> None:
        """As if its machine lost power: nothing of it gets to say a word."""
        self._kill(self._family())

    def _kill(self, family: list[procfs.Process]) -> None:
        for each in family:
            procfs.kill(each)
        if self.alive:
            _signal(self.pid, signal.SIGKILL)
        self._gone(END_LIMIT)
        with suppress(ChildProcessError):
            os.waitpid(self.pid, os.WNOHANG)

    def _family(self) -> list[procfs.Process]:
        """Also what lost its parent, as a step of a cancelled job does: it is still in our session."""
        table = procfs.table().values() if self.alive else []
        ours = [each for each in table if each.session == self.pid != each.pid]
        return list(dict.fromkeys([*procfs.descendants({self.pid}, table), *ours]))

    def _gone(self, patience: float) -> None:
        deadline = time.monotonic() + patience
        while self.alive and time.monotonic() < deadline:
            time.sleep(POLL)


def spawn(
    argv: Sequence[str], folder: Path, environ: Mapping[str, str], number: int | None, *, log: Path, tied: bool
) -> Child:
    """`tied`: it ends with the thread that started it, however that ends (a test run)."""
    setpriv = shutil.which("setpriv") if tied else None
    words = [setpriv, "--pdeathsig", "TERM", *argv] if setpriv else list(argv)
    handle = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        started = subprocess.Popen(words, cwd=folder, env=environ, stdout=handle, stderr=handle, **as_user(number))
    finally:
        os.close(handle)
    started.returncode = 0  # it is ours to reap, by Child.end, maybe from another process: Popen must not warn
    return Child(started.pid, procfs.start_time(started.pid), boot_id())


def _signal(pid: int, number: signal.Signals) -> None:
    with suppress(ProcessLookupError):
        os.killpg(pid, number)


def _exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except OSError:
        return False
    return True
