"""Where a worker's throw-away files lie: below the data folder, so that the next worker removes what a kill left."""

import shutil
from pathlib import Path

from damascus.system.hostid import host_name, host_of, is_dead, lock_file

NAME = "tmp"
_current: list[Path] = []


def scratch_folder() -> Path | None:
    """For `dir=` of tempfile. None, the system's own, in a process that is no worker."""
    return _current[-1] if _current and _current[-1].is_dir() else None


def begin(home: Path, worker: str) -> Path:
    """A folder of this worker's own; those of workers that are proved dead are removed."""
    mine = home / NAME / worker
    mine.mkdir(mode=0o700, parents=True, exist_ok=True)
    for other in (home / NAME).iterdir():
        if other != mine and host_of(other.name) == host_name() and _is_over(home / "workers", other.name):
            shutil.rmtree(other, ignore_errors=True)
    _current.append(mine)
    return mine


def _is_over(locks: Path, worker: str) -> bool:
    """Proved dead, or without the lock that every worker takes before it has a folder here."""
    return is_dead(locks, worker) or not lock_file(locks, worker).exists()


def end(mine: Path) -> None:
    if mine in _current:
        _current.remove(mine)
    shutil.rmtree(mine, ignore_errors=True)
