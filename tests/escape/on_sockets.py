"""Attempts to send something out: by every kind of socket, to listeners of the test's own."""

from collections.abc import Callable

from tests.escape.arena import Arena
from tests.escape.attempt import NEVER, Attempt

SAY = """
import os, socket
with socket.socket({family}, {kind}) as out:
    out.connect({address})
    out.send(b"let me out")
"""
FAST_OPEN = """
import os, socket
with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as out:
    out.sendto(b"let me out", 0x20000000, ("127.0.0.1", int(os.environ["TCP"])))
"""
PSQL = """
import os, socket, struct
with socket.socket(socket.AF_UNIX) as out:
    out.connect(os.environ["POSTGRES"])
    told = struct.pack("!I", 196608) + b"user\\0damascus\\0database\\0damascus\\0\\0"
    out.sendall(struct.pack("!I", len(told) + 4) + told)
    kind, _, answer = struct.unpack("!cII", out.recv(9))
    if (kind, answer) == (b"R", 0):
        text = b"COPY (SELECT 1) TO PROGRAM 'cat > " + os.environ["USER_HOME"].encode() + b"/escaped" + b"'\\0"
        out.sendall(b"Q" + struct.pack("!I", len(text) + 4) + text)
        while out.recv(1000)[-6:-5] != b"Z":
            pass
"""
"""As libpq would: a start without any password, then a program that the server is to run."""
UNIX = {"family": "socket.AF_UNIX", "kind": "socket.SOCK_STREAM"}
HYPERVISOR = "opens a socket to the hypervisor"


def heard(name: str) -> Callable[[Arena], bool]:
    return lambda arena: arena.heard(getattr(arena, name))


ATTEMPTS = (
    Attempt(
        "sends to a TCP port of the machine",
        SAY.format(family="socket.AF_INET", kind="socket.SOCK_STREAM", address='("127.0.0.1", int(os.environ["TCP"]))'),
        heard("tcp"),
        language="python",
        landlock=4,
        of_a_test=1,
    ),
    Attempt(
        "sends to a UDP port of the machine",
        SAY.format(family="socket.AF_INET", kind="socket.SOCK_DGRAM", address='("127.0.0.1", int(os.environ["UDP"]))'),
        heard("udp"),
        language="python",
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
        "sends to a TCP port of the machine by several paths (MPTCP)",
        SAY.format(
            family="socket.AF_INET",
            kind="socket.SOCK_STREAM, 262",
            address='("127.0.0.1", int(os.environ["TCP"]))',
        ),
        heard("tcp"),
        language="python",
    ),
    Attempt(
        "sends to a TCP port of the machine before it connects",
        FAST_OPEN,
        heard("tcp"),
        language="python",
    ),
    Attempt(
        "sends to another address by the gateway's port",
        SAY.format(
            family="socket.AF_INET", kind="socket.SOCK_STREAM", address='("127.0.0.2", int(os.environ["SAME_PORT"]))'
        ),
        heard("same_port"),
        language="python",
        landlock=NEVER,
        of_a_test=1,
    ),
    Attempt(
        "runs a program as our database",
        PSQL,
        lambda arena: (arena.user / "escaped").exists(),
        language="python",
        control="nobody",
    ),
)
