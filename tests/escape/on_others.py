"""Attempts on what is neither file nor socket: processes, memory, keys, terminals, the time after the end."""

import fcntl
import os
import socket
from pathlib import Path

from tests.escape.arena import Arena
from tests.escape.attempt import NEVER, Attempt

PTRACE = """
import ctypes, os, signal
call, pid = ctypes.CDLL(None, use_errno=True).ptrace, int(os.environ["VICTIM"])
call.argtypes = (ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p)
assert call(16, pid, None, None) == 0, "attach"
os.waitpid(pid, 0)
assert call(17, pid, None, int(signal.SIGUSR1)) == 0, "detach, with a signal"
"""
PROCESS_VM_WRITEV = """
import ctypes, os, struct
here = ctypes.create_string_buffer(b"overwritten")
mine, theirs = (struct.pack("@PN", at, 11) for at in (ctypes.addressof(here), int(os.environ["WORD_AT"])))
ctypes.CDLL(None).process_vm_writev(int(os.environ["VICTIM"]), mine, ctypes.c_long(1), theirs, ctypes.c_long(1), 0)
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
LOOK_AT_ALL = 'for p in /proc/[0-9]*; do tr "\\\\0" "\\\\n" < $p/{file}; done 2>/dev/null | grep {wanted} > loot'


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
    Attempt(
        "writes the memory of a process outside by its number",
        PROCESS_VM_WRITEV,
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
    ),
    Attempt(
        "makes a process outside slower",
        'import os; os.setpriority(os.PRIO_PROCESS, int(os.environ["VICTIM"]), 19)',
        Arena.slowed,
        language="python",
    ),
    Attempt(
        "holds a process outside to one processor",
        'import os; os.sched_setaffinity(int(os.environ["VICTIM"]), {min(os.sched_getaffinity(0))})',
        lambda arena: len(os.sched_getaffinity(arena.victim.pid)) < len(os.sched_getaffinity(0)),
        language="python",
        landlock=NEVER,
        spares_root=True,
        control="processors",
    ),
    Attempt(
        "makes every process of the user slower",
        'import os; os.environ["VICTIM"]; os.setpriority(os.PRIO_USER, 0, 18)',
        Arena.slowed,
        language="python",
        control="nobody",
    ),
    Attempt("leaves a process running", DAEMON, held, language="python"),
    Attempt(
        "writes to shared memory of System V",
        SHMAT,
        lambda arena: arena.in_shared_memory().startswith(b"reached"),
        language="python",
    ),
    Attempt(
        "sends to a message queue of POSIX",
        """
import ctypes, os
libc = ctypes.CDLL(None)
queue = libc.mq_open(b"/" + os.environ["QUEUE"].encode(), os.O_WRONLY)
assert libc.mq_send(queue, b"let me out", 10, 0) == 0
""",
        lambda arena: arena.in_queue(),
        language="python",
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
        "reads the kernel's log",
        """
import ctypes
into = ctypes.create_string_buffer(4096)
if ctypes.CDLL(None).klogctl(3, into, 4096) > 0:
    open("loot", "wb").write(into.value or b"?")
""",
        Arena.looted,
        language="python",
        control="root",
    ),
    Attempt(
        "makes a namespace of its own",
        """
import ctypes, os
libc = ctypes.CDLL(None)
for flag in (0x10000000, 0x40000000, 0x20000000, 0x08000000, 0x04000000, 0x00020000, 0x02000000):
    if os.fork() == 0:
        if libc.unshare(flag) == 0:
            open("loot", "w").write("unshared")
        os._exit(0)
    os.wait()
number = {"x86_64": 56}.get(os.uname().machine, 220)
pid = libc.syscall(number, 0x10000000 | 17, 0, 0, 0, 0)
if pid == 0:
    os._exit(0)
if pid > 0:
    os.waitpid(pid, 0)
    open("loot", "w").write("cloned")
""",
        Arena.looted,
        language="python",
        control="root",
    ),
    Attempt(
        "renames the machine",
        'import socket; socket.sethostname("escaped")',
        renamed,
        language="python",
        control="nobody",
    ),
)
