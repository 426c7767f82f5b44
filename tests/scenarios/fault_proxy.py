"""A proxy on loopback in front of a forge that has bad days, on request.

    with FaultProxy.before(server.url) as proxy:
        lost = proxy.lose("POST", "/git-receive-pack$", b"refs/heads/main")
        …
        assert lost.struck == 1

API and git go through it alike. `lose`: the request takes effect, then the connection is cut without an answer, or the
answer is a 502. `hold`: the request waits here until it is let go. `away`: nobody listens for as long as that lasts.
"""

import http.client
import re
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Literal
from urllib.parse import urlsplit

PATIENCE = 60.0
REFUSED = 400
NOT_PASSED_ON = {"connection", "keep-alive", "transfer-encoding", "content-length", "expect"}

Trouble = Literal["dropped", "502"]


@dataclass(frozen=True)
class Passed:
    """A request that the forge has had. `told` is what the client was told of it."""

    method: str
    path: str
    body: bytes
    status: int
    told: str


@dataclass
class Rule:
    """Meets the n-th request that fits, and as many after it as `times` says."""

    method: str
    path: re.Pattern[str]
    body: bytes
    nth: int = 1
    times: int = 1
    seen: int = 0
    struck: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def meets(self, method: str, path: str, body: bytes) -> bool:
        if method != self.method or not self.path.search(path) or self.body not in body:
            return False
        with self.lock:
            self.seen += 1
            strikes = self.nth <= self.seen < self.nth + self.times
            self.struck += strikes
            return strikes


@dataclass
class Loss(Rule):
    """What the client hears in place of the forge's answer; a refusal is passed on."""

    trouble: Trouble = "dropped"


@dataclass
class Hold(Rule):
    """`held` is set while a request waits for `go`."""

    held: threading.Event = field(default_factory=threading.Event)
    go: threading.Event = field(default_factory=threading.Event)


class FaultProxy:
    def __init__(self, behind: str) -> None:
        address = urlsplit(behind)
        assert address.hostname == "127.0.0.1" and address.port, "loopback only"
        self.behind = (address.hostname, address.port)
        self.passed: list[Passed] = []
        self.rules: list[Rule] = []
        self._server = self._listen(0)
        self.port: int = self._server.server_address[1]

    @classmethod
    @contextmanager
    def before(cls, behind: str) -> Iterator["FaultProxy"]:
        proxy = cls(behind)
        try:
            yield proxy
        finally:
            for rule in proxy.rules:
                if isinstance(rule, Hold):
                    rule.go.set()
            proxy._close()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def lose(self, method: str, path: str, body: bytes = b"", **how: object) -> Loss:
        """how: trouble, nth, times."""
        rule = Loss(method, re.compile(path), body, **how)  # type: ignore[arg-type]
        self.rules.append(rule)
        return rule

    def hold(self, method: str, path: str, body: bytes = b"", **how: object) -> Hold:
        """how: nth, times."""
        rule = Hold(method, re.compile(path), body, **how)  # type: ignore[arg-type]
        self.rules.append(rule)
        return rule

    @contextmanager
    def away(self) -> Iterator[None]:
        """Connections are refused; those that are open are served to their end."""
        self._close()
        try:
            yield
        finally:
            self._server = self._listen(self.port)

    def count(self, method: str, path: str, body: bytes = b"") -> int:
        """How often the forge did it."""
        rule = Rule(method, re.compile(path), body, times=len(self.passed))
        return sum(rule.meets(each.method, each.path, each.body) for each in self.passed if each.status < REFUSED)

    # ── inside ────────────────────────────────────────────────────────────────────────────────────────

    def _listen(self, port: int) -> ThreadingHTTPServer:
        proxy = self

        class Handler(_Handler):
            owner = proxy

        server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        return server

    def _close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def met(self, kind: type[Rule], request: tuple[str, str, bytes]) -> Rule | None:
        return next((rule for rule in self.rules if isinstance(rule, kind) and rule.meets(*request)), None)

    def ask(self, request: tuple[str, str, bytes], headers: dict[str, str]) -> tuple[int, list[tuple[str, str]], bytes]:
        method, path, body = request
        forge = http.client.HTTPConnection(*self.behind, timeout=PATIENCE)
        try:
            forge.request(method, path, body=body or None, headers=headers)
            answer = forge.getresponse()
            return answer.status, answer.getheaders(), answer.read()
        finally:
            forge.close()


class _Handler(BaseHTTPRequestHandler):
    owner: FaultProxy
    protocol_version = "HTTP/1.1"
    timeout = PATIENCE

    def handle_one_request(self) -> None:
        with suppress(OSError):
            super().handle_one_request()

    def do_GET(self) -> None:
        self.close_connection = True
        request = (self.command, self.path, self._body())
        if isinstance(hold := self.owner.met(Hold, request), Hold):
            hold.held.set()
            hold.go.wait(PATIENCE)
        try:
            status, headers, body = self.owner.ask(request, self._headers())
        except OSError:
            self._cut()
            return
        loss = self.owner.met(Loss, request) if status < REFUSED else None
        trouble = loss.trouble if isinstance(loss, Loss) else ""
        self.owner.passed.append(Passed(*request, status, trouble or str(status)))
        if trouble == "dropped":
            self._cut()
        elif trouble == "502":
            self._answer(502, [("Content-Type", "text/html")], b"<html>Bad Gateway</html>")
        else:
            self._answer(status, headers, body)

    do_POST = do_PATCH = do_GET  # noqa: N815

    def _headers(self) -> dict[str, str]:
        return {name: value for name, value in self.headers.items() if name.lower() not in NOT_PASSED_ON}

    def _body(self) -> bytes:
        """Also in chunks, as git sends what is long."""
        if self.headers.get("Transfer-Encoding", "").lower() != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length", 0)))
        body = b""
        while size := int(self.rfile.readline().partition(b";")[0], 16):
            body += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return body

    def _answer(self, status: int, headers: list[tuple[str, str]], body: bytes) -> None:
        self.send_response(status)
        for name, value in headers:
            if name.lower() not in (*NOT_PASSED_ON, "date", "server"):
                self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(body)

    def _cut(self) -> None:
        with suppress(OSError):
            self.connection.shutdown(socket.SHUT_RDWR)

    def log_message(self, format: str, *args: object) -> None:
        """The list of what passed is enough."""
