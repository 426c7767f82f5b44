"""In the sandbox of whoever asks a server that is served beside it: a port of its own loopback leads to the server.

Standard library only: it is laid beside a script that is run there (`import leading`).
"""

import os
import socket
import threading

PORT = 8000
"""The same each time, so that an address that is shown is the same; another where it is taken."""


def lead_to(path: str) -> int:
    """The port that leads to the Unix socket `path`."""
    try:
        listener = socket.create_server(("127.0.0.1", PORT), backlog=64)
    except OSError:
        listener = socket.create_server(("127.0.0.1", 0), backlog=64)
    threading.Thread(target=_accept, args=(listener, path), daemon=True).start()
    return int(listener.getsockname()[1])


def _accept(listener: socket.socket, path: str) -> None:
    where, name = os.path.split(path)
    folder = os.open(where, os.O_PATH | os.O_DIRECTORY)
    while True:
        one, _ = listener.accept()
        threading.Thread(target=_lead, args=(one, f"/proc/self/fd/{folder}/{name}"), daemon=True).start()


def _lead(one: socket.socket, path: str) -> None:
    other = socket.socket(socket.AF_UNIX)
    try:
        other.connect(path)
    except OSError:
        one.close()
        return
    threading.Thread(target=_copy, args=(one, other), daemon=True).start()
    _copy(other, one)
    one.close()
    other.close()


def _copy(source: socket.socket, sink: socket.socket) -> None:
    try:
        while piece := source.recv(65536):
            sink.sendall(piece)
        sink.shutdown(socket.SHUT_WR)
    except OSError:
        return
