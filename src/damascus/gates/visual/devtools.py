"""In the sandbox of the browser: one Chromium, spoken to through two pipes in its DevTools protocol. Standard library
only, and nothing of the project's is run in this process."""

import fcntl
import json
import os
import select
import signal
import time
from collections.abc import Callable
from typing import Any

LARGEST = 200_000_000
"""Bytes of one message: a picture is one."""
READ = 1 << 20
Event = Callable[[str, dict[str, Any]], None]


class Lost(Exception):
    """The browser is gone, or said something that it should not."""


class TooLate(Exception):
    """No answer in time."""


class Refused(Exception):
    """The browser answered, with an error."""


class Browser:
    """`heard` is told of each event while an answer is waited for. Leaving it ends the process and all it started."""

    def __init__(self, argv: list[str], env: dict[str, str], heard: Event) -> None:
        self._argv, self._env, self._heard = argv, env, heard
        self._number, self._buffer = 0, bytearray()
        self.session = ""

    def __enter__(self) -> "Browser":
        theirs_in, ours_out = _pipe()
        ours_in, theirs_out = _pipe()
        ends = [(os.POSIX_SPAWN_DUP2, theirs_in, 3), (os.POSIX_SPAWN_DUP2, theirs_out, 4)]
        self._pid = os.posix_spawn(self._argv[0], self._argv, self._env, file_actions=ends, setsid=True)
        os.close(theirs_in)
        os.close(theirs_out)
        self._in, self._out = ours_in, ours_out
        return self

    def __exit__(self, *_: object) -> None:
        os.killpg(self._pid, signal.SIGKILL)
        os.waitpid(self._pid, 0)
        os.close(self._in)
        os.close(self._out)

    def say(self, method: str, **params: object) -> int:
        """Without waiting for its answer."""
        self._number += 1
        message: dict[str, object] = {"id": self._number, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        data = json.dumps(message).encode() + b"\0"
        try:
            while data:
                data = data[os.write(self._out, data) :]
        except OSError as err:
            raise Lost("the browser ended") from err
        return self._number

    def call(self, method: str, until: float, **params: object) -> dict[str, Any]:
        number = self.say(method, **params)
        while True:
            message = self.hear(until)
            if message.get("id") == number:
                if "error" in message:
                    raise Refused(f"{method}: {message['error'].get('message', '')}")
                found: dict[str, Any] = message.get("result", {})
                return found

    def wait(self, come: Callable[[], bool], until: float) -> bool:
        """Until it is so; False: it never was."""
        try:
            while not come():
                self.hear(until)
        except TooLate:
            return come()
        return True

    def hear(self, until: float) -> dict[str, Any]:
        """The next message. Events are handed on before it is returned."""
        while (end := self._buffer.find(b"\0")) < 0:
            left = until - time.monotonic()
            if left <= 0 or not select.select([self._in], [], [], left)[0]:
                raise TooLate
            data = os.read(self._in, READ)
            if not data or len(self._buffer) > LARGEST:
                raise Lost("the browser ended" if not data else "the browser said too much")
            self._buffer += data
        text = bytes(self._buffer[:end])
        del self._buffer[: end + 1]
        message: dict[str, Any] = json.loads(text)
        if "method" in message:
            self._heard(message["method"], message.get("params", {}))
        return message


def _pipe() -> tuple[int, int]:
    """Both ends above the two numbers that the browser expects its own at."""
    ends = os.pipe()
    moved = [fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 10) for end in ends]
    for end in ends:
        os.close(end)
    return moved[0], moved[1]
