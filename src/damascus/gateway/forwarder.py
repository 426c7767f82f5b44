"""Inside a sandbox without a network: a loopback port that leads to a Unix socket, then the command itself.

    python -I -S forwarder.py --socket PATH --port N -- COMMAND [ARGUMENT…]

The process becomes the command. What copies the bytes is a grandchild that the command never sees as a child of its
own: in a session of its own, holding none of the command's files, and gone as soon as the command is.

It is a part of every agent's start, so it imports next to nothing: `socket` and `typing` each take longer than the
interpreter itself (18 and 22 ms against 15), their parts in C take none.
"""

from __future__ import annotations

import os
import select
import sys
from _socket import AF_INET, AF_UNIX, IPPROTO_TCP, SHUT_WR, SO_REUSEADDR, SOCK_STREAM, SOL_SOCKET, TCP_NODELAY, socket
from _thread import start_new_thread

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

PIECE = 65536
CANNOT_START = 127


def main(words: list[str]) -> NoReturn:
    if len(words) < 6 or words[0] != "--socket" or words[2] != "--port" or words[4] != "--":
        _fail("usage: forwarder.py --socket PATH --port N -- COMMAND [ARGUMENT…]")
    path, port, command = words[1], int(words[3]), words[5:]
    try:
        listener = _listening(port)
    except OSError as err:
        _fail(f"port {port} of the sandbox's loopback: {err.strerror}")
    _in_the_background(listener, path)
    listener.close()
    try:
        os.execvp(command[0], command)
    except OSError as err:
        _fail(f"{command[0]}: {err.strerror}")


def _fail(text: str) -> NoReturn:
    os.write(2, f"damascus: {text}\n".encode())
    os._exit(CANNOT_START)


def _listening(port: int) -> socket:
    made = socket(AF_INET, SOCK_STREAM)
    made.setsockopt(SOL_SOCKET, SO_REUSEADDR, 1)
    made.bind(("127.0.0.1", port))
    made.listen(64)
    return made


def _in_the_background(listener: socket, path: str) -> None:
    """Connections made before it accepts wait in the listener's queue, so nobody needs to wait for it."""
    command = os.pidfd_open(os.getpid())
    child = os.fork()
    if child:
        os.waitpid(child, 0)
        os.close(command)
        return
    if os.fork():
        os._exit(0)
    os.setsid()
    _let_go((listener.fileno(), command))
    start_new_thread(_end_with, (command,))
    _accept(listener, path)


def _let_go(kept: tuple[int, ...]) -> None:
    """The command's own stdin, stdout and whatever else it was given: held open here, they would never end."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(nothing, number)
    first = 3
    for number in sorted(kept):
        os.closerange(first, number)
        first = number + 1
    os.closerange(first, os.sysconf("SC_OPEN_MAX"))


def _end_with(command: int) -> None:
    """Its handle becomes readable when the process is gone, whatever program it has become."""
    poll = select.poll()
    poll.register(command, select.POLLIN)
    poll.poll()
    os._exit(0)


def _accept(listener: socket, path: str) -> NoReturn:
    while True:
        try:
            number, _ = listener._accept()  # type: ignore[attr-defined]
        except OSError:
            os._exit(1)
        start_new_thread(_connect, (socket(AF_INET, SOCK_STREAM, 0, number), path))


def _connect(inner: socket, path: str) -> None:
    outer = socket(AF_UNIX, SOCK_STREAM)
    try:
        outer.connect(path)
    except OSError:
        return
    inner.setsockopt(IPPROTO_TCP, TCP_NODELAY, 1)
    start_new_thread(_copy, (inner, outer))
    _copy(outer, inner)


def _copy(source: socket, sink: socket) -> None:
    """One direction to its end. The sockets close when both directions have let go of them."""
    try:
        while piece := source.recv(PIECE):
            sink.sendall(piece)
    except OSError:
        _shut(source)
    _shut(sink)


def _shut(ended: socket) -> None:
    try:
        ended.shutdown(SHUT_WR)
    except OSError:
        return


if __name__ == "__main__":
    main(sys.argv[1:])
