"""One scanner process for all slots of a worker: started once, asked under a lock, replaced when it hangs or dies."""

import os
import socket
import subprocess
import sys
import threading

from damascus.scanning import scan as secret_scan
from damascus.scanning.scan import Hit, NewLines

TIME_LIMIT = 60.0


class ScanFailed(Exception):
    """The content could not be scanned: it has not passed."""


class Scanner:
    """The worker's side of secret_scan. It ends with the worker: its socket closes."""

    def __init__(self, time_limit: float = TIME_LIMIT) -> None:
        self._time_limit = time_limit
        self._lock = threading.Lock()
        self._child: subprocess.Popen[bytes] | None = None
        self._sock: socket.socket | None = None

    def warm(self) -> None:
        """Start it ahead of the first question; its imports take a third of a second."""
        with self._lock:
            self._connected()

    def scan(self, files: list[NewLines]) -> list[Hit]:
        with self._lock:
            try:
                return self._ask(files)
            except TimeoutError:
                self._end()
                raise ScanFailed(f"the scan took over {self._time_limit:g} s") from None
            except (OSError, ValueError):
                self._end()
            try:
                return self._ask(files)
            except (OSError, ValueError) as err:
                self._end()
                raise ScanFailed(f"the scanner ended ({type(err).__name__})") from None

    def _ask(self, files: list[NewLines]) -> list[Hit]:
        sock = self._connected()
        sock.settimeout(self._time_limit)
        secret_scan.send(sock, {"files": files})
        answer = secret_scan.receive(sock)
        if answer is None:
            raise ConnectionError("no answer")
        hits: list[Hit] = answer["hits"]
        return hits

    def _connected(self) -> socket.socket:
        if self._sock is None:
            ours, theirs = socket.socketpair()
            with theirs:
                self._child = subprocess.Popen(
                    [sys.executable, "-P", "-m", "damascus.scanning.scan"],
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
