"""The process between a worker and a command: nothing that the command starts outlives its step.

    worker ──▶ spawner (one per worker) ──▶ keeper (one per running step) ──▶ command, its children, its daemons …

Why a process and not a thread of the worker:

- A keeper is the *subreaper* of its command (PR_SET_CHILD_SUBREAPER): a daemon that forked twice, took a session
  of its own and cleared its environment becomes the keeper's child and nobody else's. It is found without looking
  for marks, and never mistaken for the daemon of another slot or for our own PostgreSQL. Where nothing was left
  behind, one failing waitpid() says so: no scan of /proc in the normal case.
- `kill -TERM -$PPID` hits the keeper's group, in which there is nobody but the keeper. It catches SIGTERM; if it is
  killed, the spawner, subreaper too, inherits and ends all that it kept.
- It reads a socket of the worker's. If the worker dies, that socket closes and the step ends with it.
- `--die-with-parent` follows the thread that spawned: a keeper has one thread, and it lives as long as the command.

Keepers are forks of the spawner, a bare interpreter with one thread. One that has nothing left to keep takes the next
step: a fork costs more than all the rest (2 ms, against 1 ms for starting the command). While it keeps a step its
process name is the start of the step's token, so that nobody who comes to end an old step takes it for that one's.
Standard library only.
"""

import json
import os
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Collection
from contextlib import suppress
from functools import cache, partial
from typing import Any, NoReturn

from damascus.system import landlock, procfs, seccomp

TERMINATE, KILL = b"T", b"K"
END_LIMIT = 2.0
PR_SET_NAME, PR_SET_CHILD_SUBREAPER = 15, 36
IDLE = "damascus-keeper"
LINUX = sys.platform == "linux"


class ChildBell:
    """Rings when a child ends; other signals are caught and forgotten, so that a command's `kill` is no harm."""

    def __init__(self) -> None:
        self.ear, self.mouth = socket.socketpair()
        self.ear.setblocking(False)
        self.mouth.setblocking(False)
        for number in signal.valid_signals() - {signal.SIGPIPE, signal.SIGXFSZ}:  # these two Popen puts right itself
            if signal.getsignal(number) is signal.SIG_IGN:
                signal.signal(number, signal.SIG_DFL)  # ignored by whoever started us (nohup, a shell's `&`)
        signal.set_wakeup_fd(self.mouth.fileno(), warn_on_full_buffer=False)
        for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT):
            # A handler, not SIG_IGN: what is ignored stays ignored in the command.
            signal.signal(number, lambda *_: None)

    def fileno(self) -> int:
        return self.ear.fileno()

    def hush(self) -> None:
        with suppress(BlockingIOError):
            while self.ear.recv(4096):
                pass

    def close(self) -> None:
        signal.set_wakeup_fd(-1)
        self.ear.close()
        self.mouth.close()


def readable(sources: list[ChildBell | socket.socket]) -> list[ChildBell | socket.socket]:
    return select.select(sources, [], [])[0]


def become_subreaper() -> bool:
    """Orphans among our descendants become our children. Linux only; not inherited by a fork."""
    return LINUX and prctl()(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0


@cache
def prctl() -> Callable[..., int]:
    import ctypes  # the worker imports this module too, and doesn't need it

    function: Callable[..., int] = ctypes.CDLL(None).prctl
    return function


# ── the spawner ───────────────────────────────────────────────────────────────────────────────────────


def serve(requests: socket.socket) -> None:
    """Fork a keeper whenever asked, until the worker is gone and the last keeper has ended."""
    bell = ChildBell()
    become_subreaper()
    keepers: set[int] = set()
    listening = True
    while listening or keepers:
        ready = readable([bell, requests] if listening else [bell])
        if bell in ready:
            bell.hush()
            bury(keepers)
        if requests in ready:
            listening = start_keeper(requests, bell, keepers)


def start_keeper(requests: socket.socket, bell: ChildBell, keepers: set[int]) -> bool:
    """One byte with one descriptor, the keeper's socket. False at the end.

    When no process can be forked the socket just closes: the worker finds no keeper and tries again later.
    """
    data, fds, _, _ = socket.recv_fds(requests, 1, 1)
    with suppress(OSError):
        pid = os.fork() if fds else 0
        if fds and not pid:
            become_keeper(fds[0], requests, bell)
        keepers |= {pid} - {0}
    for fd in fds:
        os.close(fd)
    return bool(data)


def become_keeper(control: int, requests: socket.socket, bell: ChildBell) -> NoReturn:
    try:
        requests.close()
        bell.close()
        keep(socket.socket(fileno=control))
    finally:
        os._exit(1)


def bury(keepers: set[int]) -> None:
    """Reap what ended. All that a killed keeper kept is ended before the keeper itself leaves the process table:
    whoever waits for that to happen can rely on it."""
    while ended := ended_child():
        pid, killed = ended
        if killed and pid in keepers:
            end_strays(keepers)
        keepers.discard(pid)
        with suppress(ChildProcessError):
            os.waitpid(pid, 0)


def ended_child() -> tuple[int, bool] | None:
    """A child that ended, on Linux not yet reaped, and whether a signal ended it."""
    with suppress(ChildProcessError):
        if not LINUX:
            pid, status = os.waitpid(-1, os.WNOHANG)
            return (pid, os.WIFSIGNALED(status)) if pid else None
        found = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        return (found.si_pid, found.si_code != os.CLD_EXITED) if found else None
    return None


def end_strays(keepers: Collection[int]) -> None:
    """Our children are keepers; any other was inherited from a keeper that was killed."""
    deadline = time.monotonic() + END_LIMIT
    me = os.getpid()
    while time.monotonic() < deadline:
        processes = procfs.table().values()
        strays = {each.pid for each in processes if each.ppid == me} - set(keepers)
        alive = [each for each in processes if each.pid in strays and not each.zombie]
        for each in [*alive, *procfs.descendants(strays, processes)]:
            procfs.kill(each)
        for pid in strays:
            with suppress(ChildProcessError):
                os.waitpid(pid, os.WNOHANG)
        if not strays:
            return
        time.sleep(0.001)


# ── the keeper ────────────────────────────────────────────────────────────────────────────────────────


def keep(control: socket.socket) -> NoReturn:
    """Say who we are, then run one command after the other until the worker is gone."""
    os.setsid()
    bell = ChildBell()
    sure = become_subreaper()
    tell(control, keeper=os.getpid(), keeper_start=procfs.start_time(os.getpid()))
    while True:
        request, stdio = read_request(control)
        name_process(procfs.short_name(request["token"]))
        try:
            command = start(request, stdio)
        except (OSError, ValueError, subprocess.SubprocessError) as err:
            name_process(IDLE)
            tell(control, errno=getattr(err, "errno", None), why=f"can't start {request['argv'][0]}: {why(err)}")
            continue
        tell(control, pid=command.pid, start=procfs.start_time(command.pid))
        status = watch(control, bell, command.pid, inside=request.get("inside", False))
        ended = end_children(bell, command.pid)
        command.returncode = 0
        name_process(IDLE)
        tell(control, status=status, sure=sure and ended)
        if not ended:
            os._exit(1)


def start(request: dict[str, Any], stdio: list[int]) -> subprocess.Popen[bytes]:
    """`landlock` rules are put on by the new process itself, between fork and exec: this one has a single thread.
    `inside`: the command's first word is bubblewrap, which is handed the filter of system calls."""
    rules = request.get("landlock")
    argv, given = seccomp.bubblewrap_with(request["argv"]) if request.get("inside") else (request["argv"], [])
    try:
        return subprocess.Popen(
            argv, cwd=request["cwd"], env=request["env"], start_new_session=True, pass_fds=given,
            stdin=stdio[0], stdout=stdio[1], stderr=stdio[2],
            preexec_fn=partial(landlock.restrict, rules) if rules else None,  # noqa: PLW1509 - one thread
        )  # fmt: skip
    finally:
        for fd in (*stdio, *given):
            os.close(fd)


def name_process(name: str) -> None:
    if LINUX:
        prctl()(PR_SET_NAME, name.encode(), 0, 0, 0)


def why(err: Exception) -> str:
    if isinstance(err, OSError) and err.filename:
        return f"{err.filename}: {err.strerror}"
    return "Landlock can't confine it" if isinstance(err, subprocess.SubprocessError) else str(err)


def read_request(control: socket.socket) -> tuple[dict[str, Any], list[int]]:
    """One line of JSON, with the command's stdio; the orders that follow it are single bytes."""
    data, stdio, _, _ = socket.recv_fds(control, 1 << 16, 3)
    while data and not data.endswith(b"\n"):
        chunk = control.recv(1 << 16)
        data = data + chunk if chunk else b""
    if not data or len(stdio) != 3:
        os._exit(0)
    return json.loads(data), stdio


def watch(control: socket.socket, bell: ChildBell, command: int, *, inside: bool) -> int | None:
    """The command's wait status; None when the worker ordered its end, or is gone."""
    while True:
        ready = readable([control, bell])
        if bell in ready:
            bell.hush()
            status = reap().get(command)
            if status is not None:
                return status
        if control in ready:
            orders = control.recv(16)
            if TERMINATE in orders:
                terminate(command, inside=inside)
            if not orders or KILL in orders:
                return None


def terminate(group: int, *, inside: bool) -> None:
    """SIGTERM to the command's group. bubblewrap leads the group of what runs inside of it, and would take all that
    with it at once: it is spared, and ends when the command has."""
    if not inside:
        with suppress(OSError):
            os.killpg(group, signal.SIGTERM)
        return
    for each in procfs.table().values():
        if each.session == group and each.pid != group:
            procfs.kill(each, signal.SIGTERM)


def reap() -> dict[int, int]:
    """The wait status of every child that ended."""
    ended: dict[int, int] = {}
    with suppress(ChildProcessError):
        while (found := os.waitpid(-1, os.WNOHANG))[0]:
            ended[found[0]] = found[1]
    return ended


def end_children(bell: ChildBell, group: int) -> bool:
    """SIGKILL for all that is left; True when nothing is."""
    deadline = time.monotonic() + END_LIMIT
    if not LINUX:
        with suppress(OSError):
            os.killpg(group, signal.SIGKILL)
    while childful():
        if time.monotonic() > deadline:
            return False
        for each in procfs.descendants({os.getpid()}, procfs.table().values()):
            procfs.kill(each)
        select.select([bell], [], [], 0.02)
        bell.hush()
    return True


def childful() -> bool:
    """True while we have children. Each that dies hands its own on to us."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        return False
    return True


def tell(control: socket.socket, **facts: object) -> None:
    with suppress(OSError):
        control.sendall(json.dumps(facts).encode() + b"\n")


def main() -> None:
    serve(socket.socket(fileno=int(sys.argv[1])))
