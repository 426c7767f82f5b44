"""The bridge's own side of HTTP: an agent's connections, each answer passed on piece by piece, and the end of them all.

Nothing is logged: headers hold keys. Threads of the worker are enough for the few connections of one agent; h11 reads
and writes HTTP (system/http_incoming.py).
"""

import hmac
import json
import os
import selectors
import socket
import socketserver
import sys
import threading
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import h11
import httpx

from damascus.gateway.facts import Ledger
from damascus.gateway.model_answers import AnswerReader, error_of, resets_in, resets_told_in
from damascus.gateway.requests import MODEL_CALLS, PROBES, ModelRequest
from damascus.gateway.upstream import Upstream, UpstreamCall
from damascus.system.http_incoming import IncomingHttp, RequestRefused

ERROR_LIMIT = 64 * 2**10
MOST_CONNECTIONS = 64
LAST_WORDS = 2.0
"""Seconds that shut connections get to leave their threads."""
NOT_PASSED_BACK = {
    b"connection", b"keep-alive", b"transfer-encoding", b"te", b"trailer", b"upgrade", b"content-length",
    b"proxy-authenticate", b"proxy-authorization", b"set-cookie", b"location", b"alt-svc",
}  # fmt: skip


class Exchange(socketserver.BaseRequestHandler):
    """One connection of the agent's, with as many requests as it likes, one after the other."""

    server: "Listener"
    request: socket.socket

    def setup(self) -> None:
        self.http = IncomingHttp(self.request)
        self.asked: ModelRequest | None = None
        """Only once its head is known to be good."""
        self.bodiless = False

    def handle(self) -> None:
        while self._one():
            """The next request of the same connection."""

    def _one(self) -> bool:
        """False when there will be no other."""
        self.asked = None
        try:
            head = self.http.request()
            if head is None:
                return False
            self.bodiless = head.method == b"HEAD"
            self.asked = ModelRequest(head, self.http)
            self._refuse_strangers(self.asked)
            self._exchange(self.asked)
        except RequestRefused as err:
            self._refuse(err)
        return self.http.goes_on()

    def _refuse_strangers(self, asked: ModelRequest) -> None:
        if asked.route not in PROBES and not self.server.knows(asked.headers):
            raise RequestRefused(401, "this way to the model is not yours: the key is not the step's own")

    def _exchange(self, asked: ModelRequest) -> None:
        keyed = asked.route not in PROBES
        call = UpstreamCall(asked.method, asked.target, asked.headers, asked.pieces(), asked.length, keyed=keyed)
        try:
            with self.server.upstream.send(call) as answer:
                self._pass_on(answer)
        except httpx.TimeoutException:
            self._broken(504, "the model gateway did not answer in time")
        except httpx.HTTPError as err:
            what = "broke off its answer" if self.http.begun else "can't be reached"
            self._broken(502, f"the model gateway {what} ({type(err).__name__})")

    @property
    def _of_a_model(self) -> bool:
        return self.asked is not None and self.asked.route in MODEL_CALLS

    # ── an answer ─────────────────────────────────────────────────────────────────────────────────────

    def _pass_on(self, answer: httpx.Response) -> None:
        status = answer.status_code
        if 300 <= status < 400:
            self._broken(502, f"the model gateway answered with a redirect ({status}), which is not followed")
        elif status >= 400:
            self._pass_error(answer)
        else:
            self.server.ledger.answered(status)
            self._pass_stream(answer)

    def _pass_error(self, answer: httpx.Response) -> None:
        """Small, so it is read whole first: the key must not come back in it."""
        status, body = answer.status_code, b""
        for piece in answer.iter_bytes():
            body += piece
            if len(body) > ERROR_LIMIT:
                break
        body = self.server.upstream.masked(body[:ERROR_LIMIT])
        self.server.ledger.answered(status)
        if self._of_a_model:
            wait = resets_in({**resets_told_in(body), **answer.headers}, datetime.now(UTC))
            self.server.ledger.failed(status, error_of(body) or f"status {status}", wait)
        answer.headers.pop("content-encoding", None)
        self._head(answer, str(len(body)))
        self._data(body)
        self.http.send(h11.EndOfMessage())

    def _pass_stream(self, answer: httpx.Response) -> None:
        """Each piece as it comes, and counted before the agent has it.

        An answer that breaks off breaks off for the agent, too.
        """
        length = answer.headers.get("content-length")
        left = int(length) if length else -1
        self._head(answer, length)
        reader, whole = self._reader(answer), False
        for piece in answer.iter_raw():
            left -= len(piece)
            whole = left == 0
            self._count(reader, piece, last=whole)
            self._data(piece)
        if not whole:
            self._count(reader, b"", last=True)
        self.http.send(h11.EndOfMessage())

    def _count(self, reader: AnswerReader, piece: bytes, *, last: bool) -> None:
        self.server.ledger.used(reader.heard(piece, last=last))
        if last and self._of_a_model:
            self.server.ledger.failed(*reader.error) if reader.error else self.server.ledger.succeeded()

    def _reader(self, answer: httpx.Response) -> AnswerReader:
        readable = self._of_a_model and "content-encoding" not in answer.headers
        return AnswerReader(answer.headers.get("content-type", "") if readable else "")

    def _head(self, answer: httpx.Response, length: str | None) -> None:
        """Status and headers. Without a length the body goes in chunks, or to the end of the connection."""
        passed = [(name.lower(), self.server.upstream.masked(value)) for name, value in answer.headers.raw]
        headers = [(name, value) for name, value in passed if _passes_back(name)]
        if length is not None:
            headers.append((b"content-length", length.encode()))
        reason = answer.extensions.get("reason_phrase", b"")
        self.http.send(h11.Response(status_code=answer.status_code, headers=headers, reason=reason))

    def _data(self, data: bytes) -> None:
        if data and not self.bodiless:
            self.http.send(h11.Data(data=data))

    # ── no answer ─────────────────────────────────────────────────────────────────────────────────────

    def _broken(self, status: int, text: str) -> None:
        """Not counted once the step is over: then it was us who broke it off."""
        if not self.server.closed:
            if not self.http.begun:
                self.server.ledger.answered(status)
            if self._of_a_model:
                self.server.ledger.failed(status, text)
        self._tell(status, "api_error", text)

    def _refuse(self, err: RequestRefused) -> None:
        self.server.ledger.refused()
        self._tell(err.status, "permission_error" if err.status in (401, 403) else "invalid_request_error", str(err))

    def _tell(self, status: int, kind: str, text: str) -> None:
        """In the form that both APIs use. What the agent has still to send is not waited for."""
        if self.http.begun:
            return
        body = json.dumps({"type": "error", "error": {"type": kind, "message": f"damascus: {text}"}}).encode()
        headers = [("content-type", "application/json"), ("content-length", str(len(body))), ("connection", "close")]
        self.http.send(h11.Response(status_code=status, headers=headers))
        self._data(body)
        self.http.send(h11.EndOfMessage())


def _passes_back(name: bytes) -> bool:
    return name not in NOT_PASSED_BACK and not name.startswith(b"x-litellm-")


class Listener(socketserver.ThreadingMixIn, socketserver.TCPServer):
    """One address where the agent's connections arrive. With a `key` only who shows it is let through."""

    daemon_threads = True
    request_queue_size = MOST_CONNECTIONS
    timeout = 0.1

    def __init__(self, upstream: Upstream, ledger: Ledger, key: str | None = None) -> None:
        super().__init__(self.address(), Exchange)
        self.upstream, self.ledger, self.closed = upstream, ledger, False
        self._key = key
        self._connections: set[socket.socket] = set()
        self._changed = threading.Condition()
        self._bell, self._rope = socket.socketpair()
        self._thread = threading.Thread(target=self._serve, name="gateway", daemon=True)
        self._thread.start()

    def address(self) -> Any:
        return ("127.0.0.1", 0)

    def knows(self, headers: Mapping[str, str]) -> bool:
        if self._key is None:
            return True
        shown = headers.get("x-api-key") or headers.get("authorization", "").removeprefix("Bearer ")
        return hmac.compare_digest(shown.encode(), self._key.encode())

    def _serve(self) -> None:
        with selectors.DefaultSelector() as selector:
            selector.register(self, selectors.EVENT_READ)
            selector.register(self._bell, selectors.EVENT_READ)
            while all(key.fileobj is self for key, _ in selector.select()):
                self.handle_request()

    def verify_request(self, request: Any, client_address: Any) -> bool:
        with self._changed:
            return len(self._connections) < MOST_CONNECTIONS

    def process_request(self, request: Any, client_address: Any) -> None:
        with self._changed:
            self._connections.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        super().shutdown_request(request)
        with self._changed:
            self._connections.discard(request)
            self._changed.notify_all()

    def get_request(self) -> tuple[socket.socket, Any]:
        request, address = super().get_request()
        if self.address_family == socket.AF_INET:
            request.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return request, address

    def handle_error(self, request: Any, client_address: Any) -> None:
        """An agent that goes away is no news. A bug is counted, but not printed: a traceback may hold a header."""
        err = sys.exc_info()[1]
        if not isinstance(err, OSError):
            self.ledger.failed(500, f"the bridge to the model gateway failed ({type(err).__name__})")

    def close(self) -> None:
        """No new connection, then none at all."""
        self.closed = True
        self._rope.close()
        self._thread.join()
        self._bell.close()
        self.server_close()
        with self._changed:
            for each in self._connections:
                with suppress(OSError):
                    each.shutdown(socket.SHUT_RDWR)

    def wait(self) -> None:
        with self._changed:
            self._changed.wait_for(lambda: not self._connections, LAST_WORDS)


class UnixListener(Listener):
    """The same on a Unix socket that nobody else may open."""

    address_family = socket.AF_UNIX

    def __init__(self, path: Path, upstream: Upstream, ledger: Ledger) -> None:
        self._path = path
        super().__init__(upstream, ledger)

    def address(self) -> Any:
        return str(self._path)

    def server_bind(self) -> None:
        os.fchmod(self.socket.fileno(), 0o600)  # Linux makes the file with this mode: there is no moment without it
        super().server_bind()
        self._path.chmod(0o600)
