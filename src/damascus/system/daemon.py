"""A process that outlives the command which started it: known by PID, start and boot, so that only it is ever ended."""

import os
import signal
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import Self

from damascus.system import procfs
from damascus.system.hostid import boot_id

END_LIMIT = 10.0
POLL = 0.02


@dataclass(frozen=True)
class Daemon:
    """The first of a session of its own. After a crash or a reboot its PID alone would prove nothing."""

    pid: int
    start: int
    boot: str

    @classmethod
    def of(cls, pid: int, *more: str) -> Self:
        """A process that was started just now; `more` is what a kind of it knows beside."""
        return cls(pid, procfs.start_time(pid), boot_id(), *more)

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


def _signal(pid: int, number: signal.Signals) -> None:
    with suppress(ProcessLookupError):
        os.killpg(pid, number)


def _exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except OSError:
        return False
    return True
