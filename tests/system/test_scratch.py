"""Throw-away files of a worker lie below the data folder, and what a kill left is removed by the next worker."""

import tempfile
from pathlib import Path

from damascus.system import scratch
from damascus.system.hostid import WorkerLock, host_name, new_worker_id


def test_a_worker_has_a_folder_of_its_own_and_takes_it_along(tmp_path: Path) -> None:
    worker = new_worker_id()
    lock = WorkerLock.hold(tmp_path / "workers", worker)
    mine = scratch.begin(tmp_path, worker)
    with tempfile.TemporaryDirectory(dir=scratch.scratch_folder()) as name:
        assert Path(name).parent == mine and mine.stat().st_mode & 0o077 == 0
    scratch.end(mine)
    assert not mine.exists() and scratch.scratch_folder() != mine and lock is not None


def test_what_a_killed_worker_left_is_removed_and_others_files_are_not(tmp_path: Path) -> None:
    me = new_worker_id()
    _, boot, pid, start = me.split(":")
    dead, far = f"{host_name()}:{boot}:1999999:1", f"elsewhere:{boot}:{pid}:{start}"
    for name in (dead, far):
        (tmp_path / "tmp" / name / "damascus-index-x").mkdir(parents=True)
    lock = WorkerLock.hold(tmp_path / "workers", me)
    mine = scratch.begin(tmp_path, me)
    assert {path.name for path in (tmp_path / "tmp").iterdir()} == {me, far} and lock is not None
    scratch.end(mine)
