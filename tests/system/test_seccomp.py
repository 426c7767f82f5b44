"""The filter of system calls: what it answers, line by line as the kernel would, and to real programs in real cages."""

import errno
import os
import shutil
import socket
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from damascus.system import process, sandbox, seccomp
from damascus.system.process import Finished
from damascus.system.sandbox import Cage, Level
from damascus.system.syscalls import FILTERS, MACHINES, MPTCP, NUMBERS, SET_ID
from tests.levels import need

LEVELS = [Level.BUBBLEWRAP, Level.LANDLOCK]
GARBAGE = 0xDEAD_BEEF << 32
"""What a call may leave in the half of a register that the kernel does not read."""
TCP = (socket.AF_INET6, socket.SOCK_STREAM | socket.SOCK_CLOEXEC, 6)
PLAIN_TCP = (socket.AF_INET, socket.SOCK_STREAM | socket.SOCK_NONBLOCK, 0)
MULTIPATH = (socket.AF_INET, socket.SOCK_STREAM, MPTCP)
UDP = (socket.AF_INET, socket.SOCK_DGRAM, 0)
FILE = (socket.AF_UNIX, socket.SOCK_SEQPACKET, 0)
ROUTES = (socket.AF_NETLINK, socket.SOCK_RAW, 0)
NOWHERE = [
    (socket.AF_VSOCK, socket.SOCK_STREAM, 0), (socket.AF_PACKET, socket.SOCK_RAW, 3), (38, socket.SOCK_SEQPACKET, 0),
    (socket.AF_INET, socket.SOCK_RAW, 255), (socket.AF_INET, socket.SOCK_STREAM, 132), (socket.AF_NETLINK, 3, 9),
]  # fmt: skip


def answer(name: str, call: str, *arguments: int, machine: str = "x86_64") -> int:
    """What the kernel would answer: 0, or the error."""
    architecture, column = MACHINES[machine]
    number = NUMBERS[call][column]
    assert number is not None
    return judged(machine, name, architecture, number, *arguments)


def judged(machine: str, name: str, architecture: int, number: int, *arguments: int) -> int:
    data = struct.pack("=IIQ6Q", number, architecture, 0, *arguments, *[0] * (6 - len(arguments)))
    lines = list(struct.iter_unpack("=HBBI", seccomp.program(machine, name)))
    at = value = 0
    while True:
        code, yes, no, constant = lines[at]
        match code:
            case seccomp.LOAD:
                value = struct.unpack_from("=I", data, constant)[0]
            case seccomp.AND:
                value &= constant
            case seccomp.JUMP_IF_EQUAL:
                at += yes if value == constant else no
            case seccomp.JUMP_IF_ANY:
                at += yes if value & constant else no
            case seccomp.JUMP_IF_AT_LEAST:
                at += yes if value >= constant else no
            case seccomp.RETURN:
                return 0 if constant == seccomp.ALLOWED else constant & 0xFFFF
        at += 1


each_filter = pytest.mark.parametrize("name", list(FILTERS))
each_machine = pytest.mark.parametrize("machine", list(MACHINES))


@pytest.mark.req("W9")
@each_filter
@each_machine
def test_what_every_filter_answers(machine: str, name: str) -> None:
    architecture, _ = MACHINES[machine]

    def answers(call: str, *arguments: int) -> int:
        return answer(name, call, *arguments, machine=machine)

    assert answers("keyctl") == answers("unshare") == answers("mount") == errno.EPERM
    assert answers("io_uring_setup") == answers("clone3") == answers("openat2") == errno.ENOSYS
    assert [answers("clone", flags) for flags in (0x11, 0x3D0F00, 0x10000011, GARBAGE | 0x40000011)] == [0, 0, 1, 1]
    assert answers("socket", *FILE) == answers("socketpair", *FILE) == 0
    assert answers("socketpair", *PLAIN_TCP) == errno.EAFNOSUPPORT
    assert {answers("socket", *each) for each in NOWHERE} == {errno.EAFNOSUPPORT}
    assert answers("socket", GARBAGE | socket.AF_VSOCK, socket.SOCK_STREAM) == errno.EAFNOSUPPORT
    assert judged(machine, name, architecture, 1) == 0
    assert judged(machine, name, architecture, seccomp.X32 | 1) == errno.ENOSYS
    assert judged(machine, name, 0x40000003, 1) == errno.ENOSYS, "32 bit"


@pytest.mark.req("D6", "W9")
@each_filter
@each_machine
def test_no_call_makes_a_set_id_file(machine: str, name: str) -> None:
    places = {"fchmod": 1, "fchmodat": 2, "fchmodat2": 2, "mknodat": 2, "chmod": 1, "creat": 1, "mknod": 1}
    there = [call for call in places if NUMBERS[call][MACHINES[machine][1]] is not None]
    for call in there:
        before = [0] * places[call]
        for mode in (0o755, 0o1777, 0o600, GARBAGE | 0o644):
            assert answer(name, call, *before, mode, machine=machine) == 0
        for mode in (0o4755, 0o2755, 0o6711, 0o4000, GARBAGE | 0o2000):
            assert answer(name, call, *before, mode, machine=machine) == errno.EPERM
    assert answer(name, "openat", 0, 0, os.O_CREAT | os.O_WRONLY, 0o4755, machine=machine) == errno.EPERM
    assert answer(name, "openat", 0, 0, os.O_TMPFILE | os.O_WRONLY, 0o4755, machine=machine) == errno.EPERM
    assert answer(name, "openat", 0, 0, os.O_RDONLY, SET_ID, machine=machine) == 0, "a mode that nobody reads"
    assert answer(name, "openat", 0, 0, os.O_CREAT, 0o644, machine=machine) == 0


@pytest.mark.req("D6", "W9")
@pytest.mark.parametrize(
    ("name", "made"),
    [
        ("bubblewrap", {TCP, PLAIN_TCP, MULTIPATH, UDP, FILE, ROUTES}),
        ("landlock", {FILE}),
        ("landlock, tcp", {TCP, PLAIN_TCP, FILE}),
        ("landlock, network", {TCP, PLAIN_TCP, MULTIPATH, UDP, FILE, ROUTES}),
    ],
)
def test_which_sockets_each_kind_of_cage_can_make(name: str, made: set[tuple[int, int, int]]) -> None:
    wanted = (TCP, PLAIN_TCP, MULTIPATH, UDP, FILE, ROUTES, *NOWHERE)
    assert {each for each in wanted if answer(name, "socket", *each) == 0} == made


@pytest.mark.req("D6", "W9")
def test_what_is_refused_beside_landlock_is_bubblewraps_to_confine() -> None:
    tries = {
        "shmget": (), "semctl": (), "msgsnd": (), "mq_open": (), "setxattr": (), "removexattrat": (),
        "prlimit64": (77, 7, GARBAGE), "setpriority": (2, 0, 19), "ioprio_set": (1, 77, 0),
        "sendto": (3, 0, 0, 0x20000000), "sendmsg": (3, 0, 0x20000000), "setsockopt": (3, 6, 31),
    }  # fmt: skip
    assert all(answer("landlock", call, *arguments) for call, arguments in tries.items())
    assert not any(answer("bubblewrap", call, *arguments) for call, arguments in tries.items())
    allowed = {
        "prlimit64": [(0, 7, GARBAGE), (77, 7, 0)], "setpriority": [(0, 0, 19)], "sendto": [(3, 0, 0, 0x4000)],
        "setsockopt": [(3, 6, 1), (3, 1, 31)],
    }  # fmt: skip
    for call, each in allowed.items():
        assert not any(answer("landlock", call, *arguments) for arguments in each)


@pytest.mark.req("W9")
def test_a_machine_that_we_do_not_know_is_not_called_confined(monkeypatch: pytest.MonkeyPatch) -> None:
    named = os.uname_result(("Linux", "here", "6.1", "#1", "s390x"))
    monkeypatch.setattr(os, "uname", lambda: named)
    found = sandbox.found.__wrapped__()
    assert found.level is Level.UNCONFINED
    assert found.refusals == ("there is no filter of system calls for s390x",)


# ── honest programs ───────────────────────────────────────────────────────────────────────────────────


def caged(level: Level, folder: Path, words: str) -> Finished:
    own = folder / "own"
    own.mkdir(exist_ok=True)
    env = {"PATH": os.environ["PATH"], "HOME": str(own), "TMPDIR": str(own), "PYTHON": sys.executable}
    env |= {"RUSTUP_HOME": os.environ.get("RUSTUP_HOME", os.path.expanduser("~/.rustup"))}
    cage = Cage(need(level), write=(own,))
    return process.run(process.shell(words), cwd=own, env=env, log=folder / "log", timeout=300, cage=cage)


HONEST = {
    "install, cp -p and cp -a": """
        echo x > a; install -m 755 a b; cp -p b c; mkdir -p d/e; cp -a d f; cp --preserve=all b g; test -x c""",
    "cp -r of a folder with a group bit": "cp -r ../shared mine && test -f mine/file",
    "tar there and back": "mkdir t; echo x > t/a; chmod 750 t/a; tar cf t.tar t; rm -r t; tar xf t.tar; test -f t/a",
    "git": """
        git init -q r; cd r; git config user.email a@b.c; git config user.name n; echo x > a; git add a
        git commit -qm one; git clone -q . ../r2; git gc -q; git stash list; git worktree add -q ../r3""",
    "python's own": """
        "$PYTHON" - <<'END'
import asyncio, concurrent.futures, multiprocessing, os, shutil, socket, subprocess, tempfile, threading
asyncio.run(asyncio.sleep(0))
assert subprocess.check_output(["echo", "x"]) == b"x\\n"
open("one", "w").close(); shutil.copy2("one", "two"); os.chmod("two", 0o1755)
with socket.socket(socket.AF_UNIX) as server:
    server.bind("sock"); server.listen()
    socket.socket(socket.AF_UNIX).connect("sock")
a, b = socket.socketpair()
done = []
thread = threading.Thread(target=lambda: done.append(1)); thread.start(); thread.join(); assert done
import resource; resource.setrlimit(resource.RLIMIT_NOFILE, resource.getrlimit(resource.RLIMIT_NOFILE))
END""",
    "a virtual environment": '"$PYTHON" -m venv --without-pip v && v/bin/python -c ""',
    "sort in parallel, a pipe, a job": "seq 1 200000 | sort -R --parallel=2 | tail -1; true & wait; nice true",
}  # fmt: skip


@pytest.mark.req("W9")
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("work", list(HONEST))
def test_honest_programs_find_nothing_missing(level: Level, work: str, tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    (shared / "file").touch()
    shared.chmod(0o2755)
    own = tmp_path / "own"
    own.mkdir()
    subprocess.run(["cp", "-a", str(shared), str(own)], check=True)
    done = caged(level, tmp_path, "set -e; " + HONEST[work].replace("../shared", "shared"))
    assert done.exit_code == 0, done.tail


BUILDS = {
    "node": """
        echo "require('fs').cpSync('a', 'b', {recursive: true})" > x.js; mkdir a; touch a/f; node x.js; test -f b/f""",
    "npm": """
        echo '{"name": "x", "version": "1.0.0", "scripts": {"test": "node -e 0"}}' > package.json
        npm test; npm pack""",
    "go": "mkdir m; cd m; printf 'module x\\n' > go.mod; GOCACHE=$PWD/c GOFLAGS=-mod=mod go build errors",
    "cargo": "cargo init -q --name x --vcs none x && cd x && cargo test -q --offline",
}  # fmt: skip


@pytest.mark.req("W9")
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("tool", list(BUILDS))
def test_builds_find_nothing_missing(level: Level, tool: str, tmp_path: Path) -> None:
    if shutil.which(tool) is None:
        pytest.skip(f"{tool} is missing on the PATH")
    done = caged(level, tmp_path, "set -e; " + BUILDS[tool])
    assert done.exit_code == 0, done.tail


@pytest.mark.req("W9")
def test_a_test_may_serve_and_send_on_its_own_loopback(tmp_path: Path) -> None:
    """Under bubblewrap; under Landlock there is none but the machine's."""
    serve = """
import socket
with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()): pass
with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as udp:
    udp.bind(("::1", 0)); udp.sendto(b"x", udp.getsockname()); assert udp.recv(1) == b"x"
assert socket.if_nameindex()
"""
    (tmp_path / "own").mkdir()
    (tmp_path / "own/serve.py").write_text(serve)
    assert caged(Level.BUBBLEWRAP, tmp_path, '"$PYTHON" serve.py').exit_code == 0
