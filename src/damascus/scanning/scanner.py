"""One scanner process for all slots of a worker: started once, asked under a lock, replaced when it hangs or dies.

A worker has two: a thorough one for the final diff, which may take its time, and a quick one that every write waits
for and that also says whether Python can compile it.
"""

import os
import socket
import subprocess
import sys
import threading
import time
from typing import Any

from damascus.scanning import scan as secret_scan
from damascus.scanning.scan import QUICK, Hit, NewLines

TIME_LIMIT = 60.0
QUICK_LIMIT = 5.0


class ScanFailed(Exception):
    """The content could not be scanned: it has not passed."""


class Scanner:
    """The worker's side of scan. It ends with the worker: its socket closes."""

    def __init__(self, time_limit: float = TIME_LIMIT, *, quick: bool = False) -> None:
        self._time_limit = time_limit
        self._words = [QUICK] if quick else []
        self._lock = threading.Lock()
        self._child: subprocess.Popen[bytes] | None = None
        self._sock: socket.socket | None = None

    @classmethod
    def quick(cls) -> "Scanner":
        """For writes: our own patterns only, and a short limit."""
        return cls(QUICK_LIMIT, quick=True)

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
                    self._end()
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

    def _end(self) -> None:
        if self._sock is not None:
            self._sock.close()
        if self._child is not None:
            self._child.kill()
            self._child.wait()
        self._sock = self._child = None
