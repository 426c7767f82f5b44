"""A parent, for who must die with it, is the thread that forked: the kernel signals when that thread ends."""

import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from damascus.system import process
from tests.waiting import eventually

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="PR_SET_PDEATHSIG is Linux's")

DIES_WITH_PARENT = """
import ctypes, os, pathlib, select, signal, sys
assert ctypes.CDLL(None).prctl(1, signal.SIGKILL, 0, 0, 0) == 0
parent = os.getppid()
pathlib.Path("ready").touch()
while not os.path.exists("go"):
    select.select([], [], [], 0.01)
sys.exit(7 if os.getppid() == parent else 8)
"""
"""What bubblewrap's --die-with-parent does, then waits for the file `go`."""
COMMAND = [sys.executable, "-c", DIES_WITH_PARENT]


def in_a_thread_that_ends(target: object, *args: object) -> None:
    thread = threading.Thread(target=target, args=args)  # type: ignore[arg-type]
    thread.start()
    thread.join()


@pytest.mark.req("W22")
def test_control_a_child_of_a_thread_that_ends_dies_with_it(tmp_path: Path) -> None:
    children: list[subprocess.Popen[bytes]] = []

    def start() -> None:
        children.append(subprocess.Popen(COMMAND, cwd=tmp_path))
        eventually((tmp_path / "ready").exists)

    in_a_thread_that_ends(start)
    assert children[0].wait(timeout=10) == -signal.SIGKILL


@pytest.mark.req("W22")
def test_a_step_outlives_the_thread_that_started_the_first_one(tmp_path: Path) -> None:
    """Also while other threads of the worker come, run steps of their own, and end."""
    codes: list[int | None] = []

    def step(argv: list[str], name: str) -> None:
        log = tmp_path / f"{name}.log"
        codes.append(process.run(argv, cwd=tmp_path, env={"PATH": "/usr/bin:/bin"}, log=log, timeout=60).exit_code)

    in_a_thread_that_ends(step, ["true"], "first")
    patient = threading.Thread(target=step, args=(COMMAND, "patient"))
    patient.start()
    eventually((tmp_path / "ready").exists)
    for n in range(3):
        in_a_thread_that_ends(step, ["true"], f"other-{n}")
    (tmp_path / "go").touch()
    patient.join()
    assert codes == [0, 0, 0, 0, 7]
