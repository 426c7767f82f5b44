"""Who is this worker, and is that one dead? Answered on one host without a clock.

A worker holds an flock for its whole life, on a file named by host, boot, PID and process start. The kernel
frees it however the process ends, so a free lock is proof of death, and no PID that was given to somebody else
can be mistaken for it.
"""

import fcntl
import os
import re
import socket
import subprocess
import time
from contextlib import suppress
from functools import cache
from pathlib import Path

from damascus.system import procfs

BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
FORGET_AFTER = 7 * 86_400


@cache
def host_name() -> str:
    """This host's name, fit for a file name."""
    return re.sub(r"[^A-Za-z0-9.-]", "-", socket.gethostname())[:100] or "host"


@cache
def boot_id() -> str:
    """Differs after every start of the machine."""
    with suppress(OSError):
        return BOOT_ID.read_text().strip()
    with suppress(OSError, subprocess.SubprocessError):
        asked = subprocess.run(
            ["sysctl", "-n", "kern.bootsessionuuid"], capture_output=True, text=True, timeout=5, start_new_session=True
        )
        return asked.stdout.strip().lower() or "unknown"
    return "unknown"


def new_worker_id() -> str:
    """`<host>:<boot>:<pid>:<start>`: the same for the whole life of a process, never given twice."""
    start = procfs.start_time(os.getpid()) or _imported
    return f"{host_name()}:{_short(boot_id())}:{os.getpid()}:{start}"


def host_of(worker_id: str) -> str:
    return worker_id.partition(":")[0]


def is_dead(folder: Path, worker_id: str) -> bool:
    """True only with proof: its lock file is here, and its lock is free or it was held before this boot.

    Without the file nothing is known (another host, another data folder): then only the lease's expiry speaks.
    """
    if host_of(worker_id) != host_name():
        return False
    try:
        # Shared, so that two who ask at once don't take each other for the worker.
        return _free(lock_file(folder, worker_id)) or _boot_of(worker_id) != _short(boot_id())
    except FileNotFoundError:
        return False


class WorkerLock:
    """The lock of a living worker. Close-on-exec: no child keeps a dead worker alive."""

    def __init__(self, path: Path, fd: int) -> None:
        self.path = path
        self._fd = fd

    @classmethod
    def hold(cls, folder: Path, worker_id: str) -> "WorkerLock":
        folder.mkdir(parents=True, exist_ok=True)
        _forget_old(folder)
        path = lock_file(folder, worker_id)
        # Locked before it has its name: nobody ever sees the file of a living worker unlocked.
        aside = path.with_suffix(".new")
        fd = os.open(aside, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        fcntl.flock(fd, fcntl.LOCK_EX)
        os.replace(aside, path)
        return cls(path, fd)

    def release(self) -> None:
        """At a clean end, when every lease is returned: nobody needs to ask again."""
        if self._fd >= 0:
            self.path.unlink(missing_ok=True)
            os.close(self._fd)
        self._fd = -1


def lock_file(folder: Path, worker_id: str) -> Path:
    return folder / f"{worker_id.replace('/', '-')}.lock"


def _free(path: Path) -> bool:
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    finally:
        os.close(fd)
    return True


def _forget_old(folder: Path) -> None:
    """Files of workers that have been dead for so long that all their leases were taken over."""
    for path in folder.glob("*.lock"):
        with suppress(OSError):
            if time.time() - path.stat().st_mtime > FORGET_AFTER and _free(path):
                path.unlink()


def _boot_of(worker_id: str) -> str:
    return worker_id.partition(":")[2].partition(":")[0]


def _short(boot: str) -> str:
    return boot.replace("-", "")[:12]


_imported = int(time.time())
