"""What Linux tells of its processes. Elsewhere there is no /proc: the answers are empty, and only groups are ended.

Standard library only: the keeper imports this in a bare interpreter.
"""

import os
import signal
from collections.abc import Container, Iterable
from contextlib import suppress
from typing import NamedTuple

PROC = "/proc"


class Process(NamedTuple):
    """One line of the process table. `start` is in clock ticks since boot: with the PID it names one process."""

    pid: int
    state: str
    ppid: int
    session: int
    start: int
    name: str

    @property
    def zombie(self) -> bool:
        return self.state in "ZX"


def process(pid: int) -> Process | None:
    """The process that has this PID now; None when there is none."""
    stat = _read(f"{PROC}/{pid}/stat")
    if not stat:
        return None
    # The program's name stands in brackets and may itself contain brackets and blanks.
    end = stat.rindex(b")")
    name = stat[stat.index(b"(") + 1 : end].decode(errors="replace")
    fields = stat[end + 2 :].split(None, 20)
    return Process(pid, fields[0].decode(), int(fields[1]), int(fields[3]), int(fields[19]), name)


def short_name(name: str) -> str:
    """As much of a process's name as the kernel keeps."""
    return name[:15]


def start_time(pid: int) -> int:
    """When the process began, in clock ticks since boot; 0 when that can't be known."""
    found = process(pid)
    return found.start if found else 0


def table() -> dict[int, Process]:
    """Every process there is."""
    try:
        pids = [int(name) for name in os.listdir(PROC) if name.isdigit()]
    except FileNotFoundError:
        return {}
    return {found.pid: found for pid in pids if (found := process(pid))}


def descendants(roots: Container[int], processes: Iterable[Process]) -> list[Process]:
    """Children, children's children and so on of `roots`, without the roots themselves."""
    by_parent: dict[int, list[Process]] = {}
    for each in processes:
        by_parent.setdefault(each.ppid, []).append(each)
    found: list[Process] = []
    seen: set[int] = set()
    waiting = [pid for pid in by_parent if pid in roots]
    while waiting:
        for child in by_parent.get(waiting.pop(), ()):
            if child.pid not in seen:
                seen.add(child.pid)
                waiting.append(child.pid)
                if child.pid not in roots:
                    found.append(child)
    return found


def started_with(pid: int, entry: str) -> bool:
    """True when `entry` (NAME=value) was in the environment that the process was started with."""
    return b"\0" + entry.encode() + b"\0" in b"\0" + environment(pid) + b"\0"


def environment(pid: int) -> bytes:
    """What the process was started with, entry after entry; empty when that is not ours to know."""
    return _read(f"{PROC}/{pid}/environ")


def kill(target: Process, number: int = signal.SIGKILL) -> bool:
    """A signal for exactly this process: the handle closes the gap in which another could get its PID."""
    with suppress(OSError):
        handle = os.pidfd_open(target.pid)
        try:
            now = process(target.pid)
            if now and now.start == target.start:
                signal.pidfd_send_signal(handle, number)
                return True
        finally:
            os.close(handle)
    return False


def _read(path: str) -> bytes:
    """A small file of /proc; empty when it is gone or not ours to read."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return b""
    try:
        chunks = []
        while chunk := os.read(handle, 65536):
            chunks.append(chunk)
        return b"".join(chunks)
    except OSError:
        return b""
    finally:
        os.close(handle)
