"""Nothing of a step is left behind: daemons, children, those who shoot at their parents, leftovers of a dead worker."""

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from damascus.domain.errors import TransientError
from damascus.system import process, procfs
from damascus.system.hostid import boot_id
from damascus.system.process import Identity, end_leftovers
from tests.system.steps import ENV, OF_LIBC, SRC, Steps, alive, gone
from tests.waiting import LONG, eventually

# ── nothing is left behind ────────────────────────────────────────────────────────────────────────────

DAEMONS = {
    "background": "sleep 300 & echo $! > pid",
    "setsid": "setsid sh -c 'echo $$ > pid; exec sleep 300' &",
    "double fork, no environment, no output": (
        "env -i setsid sh -c '(cd /; setsid sleep 300 & echo $! > \"$0\") >/dev/null 2>&1 </dev/null &' $PWD/pid"
    ),
    "ignores signals": "setsid sh -c \"trap '' TERM HUP INT; echo \\$\\$ > pid; while :; do sleep 300; done\" &",
}


@pytest.mark.req("W22")
@pytest.mark.parametrize("daemon", DAEMONS.values(), ids=DAEMONS.keys())
def test_what_is_left_behind_ends_with_the_step(steps: Steps, daemon: str) -> None:
    """A setsid child survives killpg; one that also cleared its environment carries no mark."""
    done = steps(f"{daemon}\nuntil test -s pid; do sleep 0.01; done; echo done")
    assert (done.exit_code, done.tail) == (0, "done\n")
    assert gone(steps.wait_for("pid"))
    assert done.seconds < LONG


def test_what_is_left_behind_at_a_timeout_ends_too(steps: Steps) -> None:
    done = steps(f"{DAEMONS['double fork, no environment, no output']}\nsleep 300", timeout=1)
    assert done.timed_out
    assert gone(steps.wait_for("pid"))


def test_a_daemon_of_another_slot_goes_on(steps: Steps, tmp_path: Path) -> None:
    """Its environment cleared, in its own session, its parent dead: still it is known whose it is."""
    other = Steps(tmp_path / "other")
    other.folder.mkdir()
    daemon = DAEMONS["double fork, no environment, no output"]
    thread = threading.Thread(target=other, args=[f"{daemon}\nuntil test -e go; do sleep 0.02; done"])
    thread.start()
    theirs = other.wait_for("pid")
    steps(f"{daemon}\nuntil test -s pid; do sleep 0.01; done")
    assert gone(steps.wait_for("pid"))
    assert alive(theirs)
    (other.folder / "go").touch()
    thread.join()
    assert gone(theirs)


def test_many_children_end(steps: Steps) -> None:
    steps("for n in $(seq 60); do setsid sh -c 'sleep 300 & echo $! >> pids; sleep 300' & done; sleep 0.3")
    pids = (steps.folder / "pids").read_text().split()
    assert pids and all(gone(pid) for pid in pids)


# ── those who shoot ───────────────────────────────────────────────────────────────────────────────────


@pytest.mark.req("W22")
@pytest.mark.parametrize(
    ("shot", "exit_code"),
    [
        ("kill -9 0; sleep 300", -9),
        ("kill -TERM -$PPID; kill -INT -$PPID; kill -HUP $PPID; exit 5", 5),
        ("kill -KILL -$PPID; sleep 300", -9),
        ("kill -KILL $PPID; exit 0", -9),
    ],
)
def test_killing_the_parents_group_hits_nobody_else(
    steps: Steps, tmp_path: Path, bystander: subprocess.Popen[bytes], shot: str, exit_code: int
) -> None:
    other = Steps(tmp_path / "other")
    other.folder.mkdir()
    codes: list[int | None] = []
    command = "echo $$ > pid; until test -e go; do sleep 0.02; done; exit 6"
    thread = threading.Thread(target=lambda: codes.append(other(command).exit_code))
    thread.start()
    other.wait_for("pid")
    daemon = DAEMONS["double fork, no environment, no output"]
    done = steps(f"{daemon}\nuntil test -s pid; do sleep 0.01; done; {shot}")
    assert done.exit_code == exit_code
    assert gone(steps.wait_for("pid"))
    (other.folder / "go").touch()
    thread.join()
    assert codes == [6]
    assert bystander.poll() is None


def test_a_killed_keeper_is_told(steps: Steps) -> None:
    done = steps("kill -9 $PPID; exit 0")
    assert process.LOST in done.tail
    assert process.LOST in steps.log.read_text()


def test_a_stopped_keeper_holds_nobody_up(steps: Steps, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "GRACE", 0.1)
    monkeypatch.setattr(process, "END_LIMIT", 0.5)
    done = steps("echo $$ > pid; kill -STOP $PPID; sleep 300", timeout=0.5)
    assert (done.exit_code, done.timed_out) == (None, True)
    assert gone(steps.wait_for("pid"))


def test_the_next_step_runs_though_the_spawner_was_killed(steps: Steps) -> None:
    steps("kill -9 $(ps -o ppid= -p $PPID); echo shot")
    assert [steps("exit 7").exit_code for _ in range(3)] == [7, 7, 7]


def test_a_fork_of_the_worker_has_its_own_spawner(steps: Steps) -> None:
    steps("true")
    pid = os.fork()
    if not pid:
        try:
            os._exit(steps("exit 7").exit_code or 0)
        finally:
            os._exit(99)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 7
    assert steps("exit 8").exit_code == 8


# ── trouble at the start and on the way ───────────────────────────────────────────────────────────────


def test_a_command_that_cannot_start_is_127_and_says_why(steps: Steps) -> None:
    (steps.folder / "script").write_text("#!/bin/sh\n")
    (steps.folder / "lost").write_text("#!/no/such/interpreter\n")
    (steps.folder / "lost").chmod(0o755)
    for argv, why in [
        (["no-such-program"], "No such file"),
        (["./script"], "Permission denied"),
        (["./lost"], "No such file"),
        (["echo", "a\0b"], "null byte"),
    ]:
        done = steps(argv)
        assert (done.exit_code, done.timed_out, done.stopped) == (127, False, False)
        assert why in done.tail and argv[0] in done.tail
        assert why in steps.log.read_text()


def test_a_folder_that_is_gone(steps: Steps) -> None:
    done = steps("true", cwd=steps.folder / "gone")
    assert done.exit_code == 127
    assert "gone" in done.tail


@pytest.mark.req("W19")
def test_a_full_disk_is_transient_and_ends_the_command(steps: Steps) -> None:
    with pytest.raises(TransientError, match="No space left"):
        steps("echo $$ > pid; echo text; sleep 300", log=Path("/dev/full"))
    assert gone(steps.wait_for("pid"))


@pytest.mark.parametrize("where", ["started", "stopping"])
def test_whatever_a_callback_raises_the_command_ends(steps: Steps, where: str) -> None:
    def surprise(*_: object) -> int:
        steps.wait_for("pid")
        raise ValueError("a bug")

    with pytest.raises(ValueError, match="a bug"):
        steps(f"{DAEMONS['setsid']} sleep 300", **{where: surprise})
    assert gone(steps.wait_for("pid"))


# ── leftovers of a dead worker ────────────────────────────────────────────────────────────────────────

WORKER = """
import json, os, sys
from pathlib import Path
from damascus.system.process import run, shell

folder, command = Path(sys.argv[1]), sys.argv[2]
def journal(identity):
    (folder / "aside").write_text(json.dumps(identity.as_mapping()))
    (folder / "aside").rename(folder / "identity")
run(shell(command), cwd=folder, env=dict(os.environ), log=folder / "log", timeout=300, started=journal)
"""


@pytest.fixture
def worker(steps: Steps) -> Iterator[Callable[[str], tuple[subprocess.Popen[bytes], Identity]]]:
    """Another worker process that runs a command; its journal is a file."""
    started: list[subprocess.Popen[bytes]] = []

    def start(command: str) -> tuple[subprocess.Popen[bytes], Identity]:
        argv = [sys.executable, "-c", WORKER, str(steps.folder), command]
        started.append(subprocess.Popen(argv, env=ENV | {"PYTHONPATH": str(SRC)}, start_new_session=True))
        identity = Identity.of(json.loads(steps.wait_for("identity")))
        assert identity
        return started[-1], identity

    yield start
    for popen in started:
        popen.kill()
        popen.wait()


@pytest.mark.req("D20")
def test_a_killed_worker_takes_its_step_along(steps: Steps, worker: Callable[..., Any]) -> None:
    popen, identity = worker(f"{DAEMONS['double fork, no environment, no output']}\nsleep 300")
    daemon = steps.wait_for("pid")
    popen.kill()
    end_leftovers(identity)
    assert gone(identity.pid)
    assert gone(daemon)
    eventually(lambda: procfs.start_time(identity.keeper) != identity.keeper_start, what="the keeper's end")


def stopped(pid: int) -> bool:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "T"


@pytest.mark.req("D20")
@pytest.mark.parametrize("command_too", [False, True])
def test_leftovers_of_a_dead_worker_end_by_identity(
    steps: Steps, worker: Callable[..., Any], command_too: bool
) -> None:
    """The worst case: worker, spawner and keeper were all killed, nobody is left who knows."""
    orphan = "(setsid sh -c 'echo $$ > pid; exec sleep 300' &)"
    child = "(setsid sh -c 'env -i sleep 300 & echo $! > child; wait' &)"
    popen, identity = worker(f"{orphan}\n{child}\nsleep 300")
    pids = [steps.wait_for("pid"), steps.wait_for("child"), str(identity.pid)]
    keeper = procfs.process(identity.keeper)
    assert keeper
    knowing = (keeper.ppid, identity.keeper, popen.pid)
    for pid in knowing:  # each would end what is left as soon as it saw another of them die
        os.kill(pid, signal.SIGSTOP)
    eventually(lambda: all(stopped(pid) for pid in knowing), what="the stop of all who know")
    shot = [identity.keeper, popen.pid, keeper.ppid, *([int(pids.pop())] if command_too else [])]
    for pid in shot:
        os.kill(pid, signal.SIGKILL)
    eventually(lambda: all(gone(pid) for pid in shot), what="the death of all who knew")
    assert all(alive(pid) for pid in pids)
    assert end_leftovers(identity) >= len(pids)
    assert all(gone(pid) for pid in pids)
    assert end_leftovers(identity) == 0


@pytest.mark.req("D20")
def test_a_reused_pid_is_never_signalled(bystander: subprocess.Popen[bytes]) -> None:
    pid, start = bystander.pid, procfs.start_time(bystander.pid)
    for stranger in (
        Identity(pid, pid, start - 1, boot_id(), "token"),
        Identity(pid, pid, start + 1, boot_id(), "token"),
        Identity(pid, pid, start, "another boot", "token"),
        Identity(0, 0, 0, boot_id(), "token", pid, start + 1),
        Identity(pid, pid, start - 1, boot_id(), "token", pid, start - 1),
    ):
        assert end_leftovers(stranger) == 0
    assert bystander.poll() is None
    assert end_leftovers(Identity(pid, pid, start, boot_id(), "token")) == 1
    assert bystander.wait(timeout=5) == -signal.SIGKILL


def test_an_ended_step_is_not_mistaken_for_the_next_of_its_keeper(steps: Steps, tmp_path: Path) -> None:
    """A keeper takes one step after the other: who ends the first must not end the second."""
    seen: list[Identity] = []
    codes: list[int | None] = []
    steps("true", started=seen.append)
    command = f"{DAEMONS['double fork, no environment, no output']}\nuntil test -e go; do sleep 0.02; done; exit 6"
    thread = threading.Thread(target=lambda: codes.append(steps(command, started=seen.append).exit_code))
    thread.start()
    daemon = steps.wait_for("pid")
    assert seen[0].keeper == seen[1].keeper and seen[0].keeper_start == seen[1].keeper_start
    assert end_leftovers(seen[0]) == 0
    assert alive(daemon) and alive(seen[1].pid)
    (steps.folder / "go").touch()
    thread.join()
    assert codes == [6]


@pytest.mark.parametrize("ending", ["kill -9 $PPID", "sleep 300"], ids=["keeper killed", "timed out"])
def test_a_keeper_that_may_be_hurt_takes_no_other_step(steps: Steps, ending: str) -> None:
    seen: list[Identity] = []

    def note(identity: Identity) -> None:
        seen.append(identity)
        (steps.folder / "go").touch()

    steps(f"until test -e go; do sleep 0.01; done; {ending}", timeout=3, started=note)
    assert steps("exit 3", started=seen.append).exit_code == 3
    assert seen[0].keeper != seen[-1].keeper


def test_an_identity_of_the_journal(steps: Steps) -> None:
    seen: list[Identity] = []
    done = steps(["sh", "-c", f"echo $$ ${process.TOKEN}; cat /proc/$$/stat"], started=seen.append)
    (identity,) = seen
    first, stat = done.tail.splitlines()
    assert first.split() == [str(identity.pid), identity.token]
    assert (int(stat.split()[4]), int(stat.split()[21])) == (identity.pgid, identity.start_time)
    assert identity.boot_id == boot_id()
    assert Identity.of(json.loads(json.dumps(identity.as_mapping() | {"later": 1}))) == identity
    assert Identity.of({}) is None


def test_what_the_starter_ignored_is_not_ignored_in_a_command(tmp_path: Path) -> None:
    code = (
        "import signal, sys; from pathlib import Path; from damascus.system import process\n"
        "for n in (signal.SIGINT, signal.SIGHUP, signal.SIGTTOU, signal.SIGUSR1): signal.signal(n, signal.SIG_IGN)\n"
        "done = process.run(['grep', 'SigIgn', '/proc/self/status'], cwd=Path('/'), env={'PATH': sys.argv[2]},\n"
        "                   log=Path(sys.argv[1]), timeout=20)\n"
        "print(done.tail)"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "log"), os.environ["PATH"]]
    env = {**os.environ, "PYTHONPATH": str(SRC)}
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=env)
    assert int(done.stdout.split(":")[1], 16) & ~OF_LIBC == 0
