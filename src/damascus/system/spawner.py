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
from dataclasses import dataclass, field
from pathlib import Path

from damascus.domain.errors import TransientError

PACKAGE = str(Path(__file__).resolve().parents[2])
PROGRAM = f"import sys; sys.path.append({PACKAGE!r}); from damascus.system.keeper import main; main()"
ANSWER_LIMIT = 30.0
TRIES = 3


class KeeperLine:
    """A socket to a keeper that speaks one JSON object per line."""

    def __init__(self, sock: socket.socket) -> None:
        self.sock = sock
        self.keeper: dict[str, object] = {}
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

    def meet(self) -> None:
        """Wait for a new keeper to say who it is."""
        self.sock.settimeout(ANSWER_LIMIT)
        said = self.hear()
        if not said:
            raise ConnectionResetError("the keeper ended before it had anything to do")
        self.keeper = said[0]
        self.sock.settimeout(None)

    def give(self, request: bytes, stdio: tuple[int, int, int]) -> None:
        """Hand over a step. ConnectionError only if it did not go out whole, so that nothing can have run."""
        sent = socket.send_fds(self.sock, [request], stdio)
        if rest := request[sent:]:
            # Never an empty send: it fails when the command has already run to its end.
            self.sock.sendall(rest)

    def order(self, order: bytes) -> None:
        with suppress(OSError):
            self.sock.sendall(order)

    def close(self) -> None:
        self.sock.close()


@dataclass
class Spawner:
    """A bare interpreter in a session of its own, and the keepers that wait for work. It ends when its socket does."""

    sock: socket.socket
    process: subprocess.Popen[bytes]
    idle: list[KeeperLine] = field(default_factory=list)

    @classmethod
    def start(cls) -> "Spawner":
        mine, theirs = socket.socketpair()
        with theirs:
            fd = theirs.fileno()
            process = subprocess.Popen(
                [sys.executable, "-I", "-S", "-c", PROGRAM, str(fd)], pass_fds=[fd], start_new_session=True, cwd="/",
                env={}, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            )  # fmt: skip
        return cls(mine, process)

    def new_keeper(self) -> KeeperLine:
        mine, theirs = socket.socketpair()
        with theirs:
            try:
                socket.send_fds(self.sock, [b"k"], [theirs.fileno()])
            except OSError:
                mine.close()
                raise
        return KeeperLine(mine)

    def close(self) -> None:
        for line in self.idle:
            line.close()
        self.sock.close()
        self.process.poll()


_lock = threading.Lock()
_current: Spawner | None = None


def launch(request: Mapping[str, object], stdio: tuple[int, int, int]) -> KeeperLine:
    """The line to a keeper that was given the request.

    Keepers and spawner may have been killed by a command of the same user: then new ones are started.
    """
    data = json.dumps(request).encode() + b"\n"
    for _ in range(TRIES):
        with suppress(ConnectionError):
            return _given(_keeper(), data, stdio)
        _drop()
    raise TransientError("no process could be started: the process that starts them ended at once")


def give_back(line: KeeperLine) -> None:
    """The keeper has nothing left to keep, and was ordered nothing that it might not have read yet."""
    with _lock:
        if _current is not None:
            _current.idle.append(line)
        else:
            line.close()


def _given(line: KeeperLine, data: bytes, stdio: tuple[int, int, int]) -> KeeperLine:
    try:
        if not line.keeper:
            line.meet()
        line.give(data, stdio)
    except OSError:
        line.close()
        raise
    return line


def _keeper() -> KeeperLine:
    """One that is idle, else a new one."""
    global _current  # noqa: PLW0603 - one per process, as the worker itself
    with _lock:
        if _current is None:
            _current = Spawner.start()
        return _current.idle.pop() if _current.idle else _current.new_keeper()


def _drop() -> None:
    global _current  # noqa: PLW0603
    with _lock:
        if _current is not None:
            _current.close()
        _current = None


@atexit.register
def _end() -> None:
    if _current is not None:
        _current.close()


def _forget() -> None:
    """A fork of this process starts its own spawner, and does not keep this one's alive."""
    global _current, _lock
    _end()
    _current, _lock = None, threading.Lock()


os.register_at_fork(after_in_child=_forget)
