"""Attempts on what is no file: processes, the network, sockets, memory, keys, terminals, the time after the end."""

import fcntl
import socket
from collections.abc import Callable
from pathlib import Path

from tests.escape.arena import Arena
from tests.escape.attempt import NEVER, Attempt

SAY = """
import os, socket
with socket.socket({family}, {kind}) as out:
    out.connect({address})
    out.send(b"let me out")
"""
PTRACE = """
import ctypes, os, signal
call, pid = ctypes.CDLL(None, use_errno=True).ptrace, int(os.environ["VICTIM"])
call.argtypes = (ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p)
assert call(16, pid, None, None) == 0, "attach"
os.waitpid(pid, 0)
assert call(17, pid, None, int(signal.SIGUSR1)) == 0, "detach, with a signal"
"""
DAEMON = """
import fcntl, os, time
ready, told = os.pipe()
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        held = open("held", "w")
        fcntl.flock(held, fcntl.LOCK_EX)
        for fd in (0, 1, 2):
            os.close(fd)
        os.environ.clear()
        open("daemon", "w").write(str(os.getpid()))
        os.write(told, b"!")
        os.close(told)
        time.sleep(600)
    os._exit(0)
os.read(ready, 1)
"""
ADD_KEY = """
import ctypes, os
number = {{"x86_64": 248, "aarch64": 217}}[os.uname().machine]
assert ctypes.CDLL(None).syscall(number, b"user", os.environ["NAME"].encode(), b"x", 1, {ring}) > 0
"""
SESSION_RING, USER_RING = -3, -4
SHMAT = """
import ctypes, os
libc = ctypes.CDLL(None)
libc.shmat.restype = ctypes.c_void_p
ctypes.memmove(libc.shmat(int(os.environ["SHM_ID"]), None, 0), b"reached", 7)
"""
UNIX = {"family": "socket.AF_UNIX", "kind": "socket.SOCK_STREAM"}
LOOK_AT_ALL = 'for p in /proc/[0-9]*; do tr "\\\\0" "\\\\n" < $p/{file}; done 2>/dev/null | grep {wanted} > loot'


def heard(name: str) -> Callable[[Arena], bool]:
    return lambda arena: arena.heard(getattr(arena, name))


def hit(arena: Arena) -> bool:
    return arena.asked()[0] > 0


def held(arena: Arena) -> bool:
    """Somebody still has the lock that the left-over process took."""
    assert (arena.workspace / "daemon").exists(), "it never came to leave a process"
    with open(arena.workspace / "held") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def renamed(_: Arena) -> bool:
    if socket.gethostname() == HOST:
        return False
    socket.sethostname(HOST)
    return True


HOST = socket.gethostname()
HYPERVISOR = "opens a socket to the hypervisor"

ATTEMPTS = (
    Attempt("signals a process outside", "kill -USR1 $VICTIM", hit, landlock=6),
    Attempt("traces a process outside", PTRACE, hit, language="python"),
    Attempt(
        "writes the memory of a process outside",
        """
import os
with open("/proc/" + os.environ["VICTIM"] + "/mem", "r+b", buffering=0) as memory:
    memory.seek(int(os.environ["WORD_AT"]))
    memory.write(b"overwritten")
""",
        lambda arena: arena.asked()[1] != "untouched",
        language="python",
    ),
    Attempt("reads the environment of a process outside", "cat /proc/$VICTIM/environ > loot", Arena.stole),
    Attempt(
        "looks for the worker's environment in /proc",
        LOOK_AT_ALL.format(file="environ", wanted="TOKEN=") + " # $VICTIM",
        Arena.stole,
    ),
    Attempt("reads an open file of a process outside", "cat /proc/$VICTIM/fd/$HELD > loot", Arena.stole),
    Attempt(
        "reads the command line of a process outside", "cat /proc/$VICTIM/cmdline > loot", Arena.stole, landlock=NEVER
    ),
    Attempt(
        "limits what a process outside may use",
        'import os, resource; resource.prlimit(int(os.environ["VICTIM"]), resource.RLIMIT_NOFILE, (77, 77))',
        lambda arena: " 77 " in Path(f"/proc/{arena.victim.pid}/limits").read_text(),
        language="python",
        landlock=NEVER,
    ),
    Attempt("leaves a process running", DAEMON, held, language="python"),
    Attempt(
        "sends to a TCP port of the machine",
        SAY.format(family="socket.AF_INET", kind="socket.SOCK_STREAM", address='("127.0.0.1", int(os.environ["TCP"]))'),
        heard("tcp"),
        language="python",
        landlock=4,
    ),
    Attempt(
        "sends to a UDP port of the machine",
        SAY.format(family="socket.AF_INET", kind="socket.SOCK_DGRAM", address='("127.0.0.1", int(os.environ["UDP"]))'),
        heard("udp"),
        language="python",
        landlock=NEVER,
    ),
    Attempt(
        "sends to an abstract socket",
        SAY.format(address='"\\0" + os.environ["ABSTRACT"]', **UNIX),
        heard("abstract"),
        language="python",
        landlock=6,
    ),
    Attempt(
        "sends to the user's ssh agent",
        SAY.format(address='os.environ["AGENT_SOCKET"]', **UNIX),
        heard("agent_socket"),
        language="python",
        landlock=NEVER,
    ),
    Attempt(
        "sends to Damascus' database",
        SAY.format(address='os.environ["DATABASE"]', **UNIX),
        heard("database"),
        language="python",
        landlock=NEVER,
    ),
    Attempt(
        HYPERVISOR,
        'import socket; socket.socket(socket.AF_VSOCK, socket.SOCK_STREAM); open("loot", "w").write("made")',
        Arena.looted,
        language="python",
    ),
    Attempt(
        "listens to the machine's network card",
        'import socket; socket.socket(socket.AF_PACKET, socket.SOCK_RAW); open("loot", "w").write("raw")',
        Arena.looted,
        language="python",
        control="root",
    ),
    Attempt(
        "writes to shared memory of System V",
        SHMAT,
        lambda arena: arena.in_shared_memory().startswith(b"reached"),
        language="python",
        landlock=NEVER,
    ),
    Attempt(
        "leaves a key in the session's keyring",
        ADD_KEY.format(ring=SESSION_RING),
        lambda arena: arena.in_keyring(SESSION_RING),
        language="python",
        own_uid=True,
    ),
    Attempt(
        "leaves a key in the user's keyring",
        ADD_KEY.format(ring=USER_RING),
        lambda arena: arena.in_keyring(USER_RING),
        language="python",
        own_uid=True,
    ),
    Attempt("writes to a person's terminal", 'echo "rm -rf ~" > "$TERMINAL"', lambda arena: arena.on_terminal() != b""),
    Attempt(
        "renames the machine",
        'import socket; socket.sethostname("escaped")',
        renamed,
        language="python",
        control="nobody",
    ),
)
