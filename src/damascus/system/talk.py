"""A conversation with a command: line by line over its stdin and stdout, both sockets.

Sockets, not pipes: another process of the same user can open a pipe by /proc/<pid>/fd and put words into the
command's mouth or ear; a socket it can't (ENXIO).
"""

import socket
from collections.abc import Callable
from typing import Protocol

from damascus.system.output import CHUNK, CappedLog, Tail

LONGEST_LINE = 64 << 20


class Talk(Protocol):
    """The worker's side. Both are called in the thread that supervises the command."""

    def begin(self, line: "TalkLine") -> None:
        """The command was started: say the first words."""
        ...

    def heard(self, line: bytes) -> None:
        """One whole line of its stdout, without the line end."""
        ...


class TalkLine:
    """The socket to the command's stdin. What does not fit at once is said as soon as it does."""

    def __init__(self) -> None:
        self._ours, self._theirs = socket.socketpair()
        self._ours.setblocking(False)
        self._unsaid = bytearray()
        self._last = False

    def fileno(self) -> int:
        return self._ours.fileno()

    @property
    def theirs(self) -> int:
        return self._theirs.fileno()

    @property
    def waits(self) -> bool:
        return bool(self._unsaid)

    def say(self, data: bytes) -> None:
        self._unsaid += data
        self.push()

    def hang_up(self) -> None:
        """No more words; the command reads the end of its input once all are said."""
        self._last = True
        self.push()

    def push(self) -> None:
        """Send what can be sent. A command that is gone hears nothing, and nobody minds."""
        try:
            while self._unsaid:
                del self._unsaid[: self._ours.send(self._unsaid[:CHUNK])]
            if self._last:
                self._ours.shutdown(socket.SHUT_WR)
                self._last = False
        except BlockingIOError:
            return
        except OSError:
            self._unsaid.clear()

    def release(self) -> None:
        self._theirs.close()

    def close(self) -> None:
        self._theirs.close()
        self._ours.close()


class Ear:
    """A command's stdout as lines. It stands where output.Stream stands for a command that just prints."""

    def __init__(self, log: CappedLog, tail: Tail, heard: Callable[[bytes], None]) -> None:
        self.log = log
        self._tail = tail
        self._heard = heard
        self._ours, self._theirs = socket.socketpair()
        self._ours.setblocking(False)
        self._rest = bytearray()

    def fileno(self) -> int:
        return self._ours.fileno()

    @property
    def theirs(self) -> int:
        return self._theirs.fileno()

    def take(self) -> bool:
        """Log and pass on what is there; False when nothing was, or nothing can come any more."""
        try:
            data = self._ours.recv(CHUNK)
        except BlockingIOError:
            return False
        except ConnectionError:
            return False
        if not data:
            return False
        self.log.write(data)
        self._tail.add(data)
        self._rest += data
        self._pass_on()
        return True

    def _pass_on(self) -> None:
        *lines, rest = self._rest.split(b"\n")
        self._rest = rest if len(rest) <= LONGEST_LINE else bytearray()
        for line in lines:
            if line:
                self._heard(bytes(line))

    def drain(self) -> None:
        while self.take():
            pass
        self.log.finish()

    def release(self) -> None:
        self._theirs.close()

    def close(self) -> None:
        self._theirs.close()
        self._ours.close()
