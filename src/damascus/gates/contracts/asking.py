"""In a sandbox of its own: schemathesis asks the server, through the Unix socket that leads to it.

    python -I asking.py SOCKET [ARGUMENT of schemathesis run…]

`{url}` among the arguments is the address. Only what the server answers reaches this process: its code can't touch it.
"""

import os
import socket
import sys
import threading

from schemathesis.cli import schemathesis


def main(path: str, words: list[str]) -> None:
    listener = socket.create_server(("127.0.0.1", 0), backlog=64)
    threading.Thread(target=_accept, args=(listener, path), daemon=True).start()
    url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    schemathesis(args=["run", *(url if word == "{url}" else word for word in words)], prog_name="schemathesis")


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


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
