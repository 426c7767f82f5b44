"""The log files of workers: one for each process, in the data folder, named as the process is."""

import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from damascus.system.hostid import host_name, host_of, is_dead, lock_file

FOLDER = "logs"
SUFFIX = ".jsonl"


def log_file(home: Path, worker: str) -> Path:
    return home / FOLDER / f"{worker.replace('/', '-')}{SUFFIX}"


def old_logs(home: Path, keep_seconds: float) -> Iterator[Path]:
    """Of this host's workers that are gone, what is older than that."""
    for path in (home / FOLDER).glob(f"*{SUFFIX}*"):
        worker = path.name.partition(SUFFIX)[0]
        if host_of(worker) == host_name() and _is_over(home / "workers", worker):
            with suppress(OSError):
                if time.time() - path.stat().st_mtime > keep_seconds:
                    yield path


def _is_over(locks: Path, worker: str) -> bool:
    """Its lock file goes a week after its end (hostid)."""
    return is_dead(locks, worker) or not lock_file(locks, worker).exists()
