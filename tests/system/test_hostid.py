"""Worker locks: real processes that hold, die and are asked about."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from damascus.system.hostid import WorkerLock, boot_id, host_name, host_of, is_dead, new_worker_id
from tests.waiting import eventually

pytestmark = pytest.mark.req("D20")

SRC = Path(__file__).parents[2] / "src"
WORKER = """
import subprocess, sys
from pathlib import Path
from damascus.system.hostid import WorkerLock, new_worker_id

lock = WorkerLock.hold(Path(sys.argv[1]), new_worker_id())
child = subprocess.Popen(["sleep", "300"], close_fds=False, stdout=subprocess.DEVNULL)
print(new_worker_id(), child.pid, flush=True)
sys.stdin.read()
lock.release()
child.kill()
"""


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[[], tuple[subprocess.Popen[str], str]]]:
    running: list[tuple[subprocess.Popen[str], int]] = []

    def one() -> tuple[subprocess.Popen[str], str]:
        popen = subprocess.Popen(
            [sys.executable, "-c", WORKER, str(tmp_path)],
            env=os.environ | {"PYTHONPATH": str(SRC)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert popen.stdout
        worker_id, child = popen.stdout.readline().split()
        running.append((popen, int(child)))
        return popen, worker_id

    yield one
    for popen, child in running:
        popen.kill()
        popen.communicate()
        subprocess.run(["kill", "-9", str(child)], stderr=subprocess.DEVNULL)


Start = Callable[[], tuple[subprocess.Popen[str], str]]


def test_a_killed_worker_is_dead_at_once_and_a_living_one_is_not(tmp_path: Path, start: Start) -> None:
    """Also when a child of the dead one lives on: it inherits no lock."""
    (killed, dead_id), (_, living_id) = start(), start()
    assert not is_dead(tmp_path, dead_id)
    killed.kill()
    killed.wait()
    assert is_dead(tmp_path, dead_id)
    assert not is_dead(tmp_path, living_id)


def test_asking_does_not_disturb(tmp_path: Path, start: Start) -> None:
    popen, worker_id = start()
    popen.kill()
    popen.wait()
    assert [is_dead(tmp_path, worker_id) for _ in range(5)] == [True] * 5


def test_a_clean_end_leaves_no_file(tmp_path: Path, start: Start) -> None:
    popen, worker_id = start()
    popen.communicate("")
    assert list(tmp_path.iterdir()) == []
    assert not is_dead(tmp_path, worker_id)


def test_nothing_is_known_of_other_hosts_and_other_folders(tmp_path: Path) -> None:
    mine = new_worker_id()
    assert not is_dead(tmp_path, mine)
    assert not is_dead(tmp_path / "nowhere", mine)
    elsewhere = mine.replace(host_name(), "elsewhere", 1)
    (tmp_path / f"{elsewhere}.lock").touch()
    assert not is_dead(tmp_path, elsewhere)


def test_before_this_boot_is_dead(tmp_path: Path) -> None:
    old = f"{host_name()}:000000000000:1:1"
    assert not is_dead(tmp_path, old)
    lock = WorkerLock.hold(tmp_path, old)
    assert is_dead(tmp_path, old)
    lock.release()


def test_the_id_names_host_boot_and_process() -> None:
    worker_id = new_worker_id()
    host, boot, pid, start = worker_id.split(":")
    assert (host, int(pid)) == (host_name(), os.getpid())
    assert boot_id().replace("-", "").startswith(boot) and len(boot) == 12
    assert int(start) > 0
    assert worker_id == new_worker_id()
    assert host_of(worker_id) == host_name()


def test_two_processes_have_two_ids(start: Start) -> None:
    assert len({start()[1], start()[1], new_worker_id()}) == 3


def test_files_of_the_long_dead_are_removed(tmp_path: Path, start: Start) -> None:
    living, living_id = start()
    for name in ("old", "recent"):
        (tmp_path / f"{name}.lock").touch()
    for name in ("old", living_id):
        os.utime(tmp_path / f"{name}.lock", (0, 0))
    WorkerLock.hold(tmp_path, new_worker_id()).release()
    assert eventually(lambda: sorted(path.stem for path in tmp_path.iterdir()) == sorted(["recent", living_id]))
    assert living.poll() is None
