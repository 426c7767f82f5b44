"""One scanner process for all slots of a worker: started once, asked under a lock, replaced when it hangs or dies.

A worker has two: a thorough one for the final diff, which may take its time, and a quick one that every write waits
for and that also says whether Python can compile it.
"""

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import suppress
from typing import Any

from damascus.scanning import scan as secret_scan
from damascus.scanning.scan import QUICK, READER, Hit, NewLines

TIME_LIMIT = 60.0
QUICK_LIMIT = 5.0


class ScanFailed(Exception):
    """The content could not be scanned: it has not passed."""


class TooMuchToRead(ScanFailed):
    """This very text took all the processor time or memory that a reader may use: whoever wrote it is to blame."""


class Scanner:
    """The worker's side of scan. It ends with the worker: its socket closes."""

    def __init__(self, time_limit: float = TIME_LIMIT, *, quick: bool = False, reader: bool = False) -> None:
        self._time_limit = time_limit
        self._words = [QUICK] if quick else [READER] if reader else []
        self._lock = threading.Lock()
        self._child: subprocess.Popen[bytes] | None = None
        self._sock: socket.socket | None = None

    @classmethod
    def quick(cls) -> "Scanner":
        """For writes: our own patterns only, and a short limit."""
        return cls(QUICK_LIMIT, quick=True)

    @classmethod
    def reader(cls) -> "Scanner":
        """For reading what agents wrote: no patterns at all, each call under a limit of processor time."""
        return cls(reader=True)

    def warm(self) -> None:
        """Start it ahead of the first question, which would wait for its imports."""
        with self._lock:
            self._connected()

    def scan(self, files: list[NewLines]) -> list[Hit]:
        hits: list[Hit] = self._answer({"files": files})["hits"]
        return hits

    def compile_error(self, path: str, source: str) -> str:
        """Why this Python can't compile a source; "" when it can."""
        return str(self._answer({"compile": path, "source": source})["error"])

    def call(self, name: str, **given: Any) -> Any:
        """What a named reader makes of a text (scan.CALLS)."""
        answer = self._answer({"call": name, "given": given})
        if "unreadable" in answer:
            raise TooMuchToRead(answer["unreadable"])
        return answer["value"]

    def _answer(self, request: dict[str, Any]) -> dict[str, Any]:
        """Whoever waits behind a slow question gives up in the same time; one that died is asked once more."""
        deadline = time.monotonic() + self._time_limit
        if not self._lock.acquire(timeout=self._time_limit):
            raise ScanFailed(f"the scanner was busy for over {self._time_limit:g} s")
        try:
            for last in (False, True):
                try:
                    return self._ask(request, deadline)
                except TimeoutError:
                    self._end()
                    raise ScanFailed(f"the scan took over {self._time_limit:g} s") from None
                except (OSError, ValueError, KeyError) as err:
                    if self._end() == -signal.SIGXCPU:
                        raise TooMuchToRead("it took too much processor time") from None
                    if last:
                        raise ScanFailed(f"the scanner ended ({type(err).__name__})") from None
        finally:
            self._lock.release()
        raise AssertionError("the last try returns or raises")

    def _ask(self, request: dict[str, Any], deadline: float) -> dict[str, Any]:
        sock = self._connected()
        sock.settimeout(max(0.001, deadline - time.monotonic()))
        secret_scan.send(sock, request)
        answer = secret_scan.receive(sock)
        if answer is None:
            raise ConnectionError("no answer")
        found: dict[str, Any] = answer
        return found

    def _connected(self) -> socket.socket:
        if self._sock is None:
            ours, theirs = socket.socketpair()
            with theirs:
                self._child = subprocess.Popen(
                    [sys.executable, "-P", "-W", "ignore", "-m", "damascus.scanning.scan", *self._words],
                    stdin=theirs.fileno(),
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    cwd="/",
                    env={key: os.environ[key] for key in ("PATH", "LANG", "PYTHONPATH") if key in os.environ},
                    start_new_session=True,
                )
            self._sock = ours
        return self._sock

    def close(self) -> None:
        with self._lock:
            self._end()

    def _end(self) -> int | None:
        """How it ended, where it had ended before us."""
        ended = None
        if self._sock is not None:
            self._sock.close()
        if self._child is not None:
            with suppress(subprocess.TimeoutExpired):
                ended = self._child.wait(timeout=0.2)
            self._child.kill()
            self._child.wait()
        self._sock = self._child = None
        return ended
