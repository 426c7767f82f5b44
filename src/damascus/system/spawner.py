"""The worker's line to its spawner (see keeper.py): one per process, started when first needed."""

import atexit
import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from damascus.domain.errors import TransientError

PACKAGE = str(Path(__file__).resolve().parents[2])
PROGRAM = f"import sys; sys.path.append({PACKAGE!r}); from damascus.system.keeper import main; main()"
ANSWER_LIMIT = 30.0
TRIES = 3


class Line:
    """A socket to a keeper that speaks one JSON object per line."""

    def __init__(self, sock: socket.socket) -> None:
        self.sock = sock
        self._rest = b""

    def fileno(self) -> int:
        return self.sock.fileno()

    def hear(self) -> list[dict[str, object]] | None:
        """What the keeper said since; None when it is gone."""
        try:
            data = self.sock.recv(1 << 16)
        except ConnectionError:
            data = b""
        if not data:
            return None
        *lines, self._rest = (self._rest + data).split(b"\n")
        return [json.loads(line) for line in lines]

    def order(self, order: bytes) -> None:
        with suppress(OSError):
            self.sock.sendall(order)

    def close(self) -> None:
        self.sock.close()


@dataclass
class Spawner:
    """A bare interpreter in a session of its own. It ends when its socket does."""

    owner: int
    sock: socket.socket
    process: subprocess.Popen[bytes]
    spare: Line | None = None

    @classmethod
    def start(cls) -> "Spawner":
        mine, theirs = socket.socketpair()
        with theirs:
            fd = theirs.fileno()
            process = subprocess.Popen(
                [sys.executable, "-I", "-S", "-c", PROGRAM, str(fd)], pass_fds=[fd], start_new_session=True, cwd="/",
                env={}, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            )  # fmt: skip
        return cls(os.getpid(), mine, process)

    def close(self) -> None:
        if self.spare is not None:
            self.spare.close()
        self.sock.close()
        self.process.poll()

    def keeper(self) -> Line:
        """A new keeper that waits for its request."""
        mine, theirs = socket.socketpair()
        with theirs:
            try:
                socket.send_fds(self.sock, [b"k"], [theirs.fileno()])
            except OSError:
                mine.close()
                raise
        return Line(mine)


_lock = threading.Lock()
_current: Spawner | None = None


def launch(request: Mapping[str, object], stdio: tuple[int, int, int]) -> tuple[Line, list[dict[str, object]]]:
    """A keeper that was given the request, and what it said first: who it is.

    Spare keeper and spawner may have been killed by a command of the same user. Another keeper is tried only as
    long as nothing can have run: the request did not go out whole, or the keeper had not even said its name.
    """
    data = json.dumps(request).encode() + b"\n"
    for _ in range(TRIES):
        with suppress(ConnectionError):
            line = _keeper()
            if said := _first_words(line, data, stdio):
                _prepare_spare()
                return line, said
        _drop()
    raise TransientError("no process could be started: the process that starts them ended at once")


def _first_words(line: Line, request: bytes, stdio: tuple[int, int, int]) -> list[dict[str, object]] | None:
    try:
        line.sock.settimeout(ANSWER_LIMIT)
        sent = socket.send_fds(line.sock, [request], stdio)
        if rest := request[sent:]:
            # Never an empty send: it fails when the command has already run to its end, and would run it again.
            line.sock.sendall(rest)
        said = line.hear()
        line.sock.settimeout(None)
    except OSError:
        line.close()
        raise
    return said


def _keeper() -> Line:
    """The spare one, else a new one of this process's own spawner."""
    global _current  # noqa: PLW0603 - one per process, as the worker itself
    with _lock:
        if _current is None or _current.owner != os.getpid():
            _current = Spawner.start()
        line, _current.spare = _current.spare or _current.keeper(), None
        return line


def _prepare_spare() -> None:
    with _lock, suppress(OSError):
        if _current is not None and _current.spare is None:
            _current.spare = _current.keeper()


def _drop() -> None:
    global _current  # noqa: PLW0603
    with _lock:
        if _current is not None:
            _current.close()
        _current = None


@atexit.register
def _end() -> None:
    if _current is not None and _current.owner == os.getpid():
        _current.close()
