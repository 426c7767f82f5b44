"""A model gateway of the test's own on loopback: it notes what it is asked, and answers as the test says."""

import socket
import ssl
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from json import dumps
from typing import Self


@dataclass(frozen=True)
class Asked:
    method: str
    target: str
    headers: Mapping[str, str]
    body: bytes = b""


Answer = Callable[["Talk"], None]


class Talk(BaseHTTPRequestHandler):
    """One request, as the test's answer sees it."""

    protocol_version = "HTTP/1.1"
    server: "_Http"
    body = b""

    def log_message(self, format: str, *args: object) -> None:
        """Nobody reads it."""

    def do_POST(self) -> None:
        self.close_connection = True
        if self.server.gateway.reads_first:
            self.body = b"".join(iter(self.piece, b""))
        self.server.gateway.note(Asked(self.command, self.path, dict(self.headers.items()), self.body))
        with suppress(OSError):
            self.server.gateway.answer(self)

    def do_GET(self) -> None:
        self.do_POST()

    def do_HEAD(self) -> None:
        self.do_POST()

    def piece(self) -> bytes:
        """The next part of the body; empty at its end."""
        if "chunked" in self.headers.get("transfer-encoding", ""):
            size = int(self.rfile.readline(), 16)
            found = self.rfile.read(size)
            self.rfile.readline()
            return found
        if not hasattr(self, "left"):
            self.left = int(self.headers.get("content-length") or 0)
        found = self.rfile.read1(min(self.left, 65536)) if self.left else b""
        self.left -= len(found)
        return found

    def reply(self, answer: object = None, status: int = 200, headers: Mapping[str, str] | None = None) -> None:
        data = answer if isinstance(answer, bytes) else dumps({} if answer is None else answer).encode()
        self.send_response(status)
        for name, value in {"content-type": "application/json", **(headers or {})}.items():
            self.send_header(name, value)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def begin_stream(self) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()

    def event(self, data: object) -> None:
        text = f"data: {data if isinstance(data, str) else dumps(data)}\n\n".encode()
        self.wfile.write(b"%x\r\n%b\r\n" % (len(text), text))

    def end_stream(self) -> None:
        self.wfile.write(b"0\r\n\r\n")

    def gone(self) -> bool:
        """True once the other side has ended the connection; waits for that."""
        try:
            return self.connection.recv(1) == b""
        except OSError:
            return True


def fine(talk: Talk) -> None:
    talk.reply({"ok": True})


class Gateway:
    def __init__(self, answer: Answer = fine, *, reads_first: bool = True, tls: ssl.SSLContext | None = None) -> None:
        self.answer = answer
        self.reads_first = reads_first
        self.asked: list[Asked] = []
        self._lock = threading.Lock()
        self._http = _Http(("127.0.0.1", 0), Talk)
        self._http.gateway = self
        if tls:
            self._http.socket = tls.wrap_socket(self._http.socket, server_side=True)
        self._scheme = "https" if tls else "http"
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)

    def note(self, asked: Asked) -> None:
        with self._lock:
            self.asked.append(asked)

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self._http.server_address[1]}"

    @property
    def url(self) -> str:
        return f"{self._scheme}://{self.host}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()


class _Http(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 128
    gateway: Gateway


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])
