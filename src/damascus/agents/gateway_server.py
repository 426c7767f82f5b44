"""The bridge's own side of HTTP: an agent's connections, each answer passed on piece by piece, and the end of them all.

Nothing is logged: headers hold keys. The standard library's server in threads of the worker is enough for the few
connections of one agent.
"""

import hmac
import json
import os
import selectors
import socket
import socketserver
import sys
import threading
from contextlib import suppress
from datetime import UTC, datetime
from email.message import Message
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import httpx

from damascus.agents.gateway_facts import Ledger
from damascus.agents.gateway_requests import MODEL_CALLS, PROBES, Body, Refused, refuse_other_paths
from damascus.agents.gateway_upstream import Call, Upstream
from damascus.agents.model_answers import AnswerReader, error_of, resets_in, resets_told_in

ERROR_LIMIT = 64 * 2**10
MOST_CONNECTIONS = 64
LAST_WORDS = 2.0
"""Seconds that shut connections get to leave their threads."""
NOT_PASSED_BACK = {
    "connection", "keep-alive", "transfer-encoding", "te", "trailer", "upgrade", "content-length",
    "proxy-authenticate", "proxy-authorization", "set-cookie", "location", "alt-svc",
}  # fmt: skip


class Exchange(BaseHTTPRequestHandler):
    """One connection of the agent's, with as many requests as it likes, one after the other."""

    protocol_version = "HTTP/1.1"
    server: "Listener"
    begun = False
    """The head of the answer is sent: what goes wrong now can only break it off."""

    def log_message(self, format: str, *args: object) -> None:
        """Nothing is logged."""

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """What the standard library refuses (a method, a line too long) is refused in the API's own form."""
        self._refuse(Refused(403 if code == 501 else code, message or "not an HTTP request"))

    def do_POST(self) -> None:
        self.begun = False
        self.route = self.path.partition("?")[0]
        try:
            refuse_other_paths(self.command, self.path)
            self._refuse_strangers()
            body = Body(self.headers, self.rfile)
            self._exchange(body)
            self.close_connection = self.close_connection or not body.whole
        except Refused as err:
            self._refuse(err)

    def do_GET(self) -> None:
        self.do_POST()

    def do_HEAD(self) -> None:
        self.do_POST()

    def _refuse_strangers(self) -> None:
        if self.route not in PROBES and not self.server.knows(self.headers):
            raise Refused(401, "this way to the model is not yours: the key is not the step's own")

    def _exchange(self, body: Body) -> None:
        given = dict(self.headers.items())
        call = Call(self.command, self.path, given, body.pieces(), body.length, keyed=self.route not in PROBES)
        try:
            with self.server.upstream.send(call) as answer:
                self._pass_on(answer)
        except httpx.TimeoutException:
            self._broken(504, "the model gateway did not answer in time")
        except httpx.HTTPError as err:
            what = "broke off its answer" if self.begun else "can't be reached"
            self._broken(502, f"the model gateway {what} ({type(err).__name__})")

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
        if self.route in MODEL_CALLS:
            wait = resets_in({**resets_told_in(body), **answer.headers}, datetime.now(UTC))
            self.server.ledger.failed(status, error_of(body) or f"status {status}", wait)
        answer.headers.pop("content-encoding", None)
        self._head(answer, str(len(body)))
        self._write(body)

    def _pass_stream(self, answer: httpx.Response) -> None:
        """Each piece as it comes, and counted before the agent has it.

        An answer that breaks off breaks off for the agent, too.
        """
        length = answer.headers.get("content-length")
        left = int(length) if length else -1
        chunked = self._head(answer, length)
        reader, whole = self._reader(answer), False
        for piece in answer.iter_raw():
            left -= len(piece)
            whole = left == 0
            self._count(reader, piece, last=whole)
            self._write(b"%x\r\n%b\r\n" % (len(piece), piece) if chunked else piece)
        if not whole:
            self._count(reader, b"", last=True)
        self._write(b"0\r\n\r\n" if chunked else b"")

    def _count(self, reader: AnswerReader, piece: bytes, *, last: bool) -> None:
        self.server.ledger.used(reader.heard(piece, last=last))
        if last and self.route in MODEL_CALLS:
            self.server.ledger.failed(*reader.error) if reader.error else self.server.ledger.succeeded()

    def _reader(self, answer: httpx.Response) -> AnswerReader:
        readable = self.route in MODEL_CALLS and "content-encoding" not in answer.headers
        return AnswerReader(answer.headers.get("content-type", "") if readable else "")

    def _head(self, answer: httpx.Response, length: str | None) -> bool:
        """Status and headers; True when the body goes in chunks."""
        self.begun = True
        self.send_response_only(answer.status_code)
        for name, value in answer.headers.items():
            if name not in NOT_PASSED_BACK and not name.startswith("x-litellm-"):
                self.send_header(name, self.server.upstream.masked(value.encode()).decode("latin-1"))
        bodiless = self.command == "HEAD" or answer.status_code == 204
        chunked = length is None and not bodiless and self.request_version == "HTTP/1.1"
        if length is not None:
            self.send_header("content-length", length)
        elif chunked:
            self.send_header("transfer-encoding", "chunked")
        self.close_connection = self.close_connection or (length is None and not chunked)
        self.end_headers()
        return chunked

    def _write(self, data: bytes) -> None:
        if data and self.command != "HEAD":
            self.wfile.write(data)

    # ── no answer ─────────────────────────────────────────────────────────────────────────────────────

    def _broken(self, status: int, text: str) -> None:
        """Not counted once the step is over: then it was us who broke it off."""
        if not self.server.closed:
            if not self.begun:
                self.server.ledger.answered(status)
            if self.route in MODEL_CALLS:
                self.server.ledger.failed(status, text)
        self._tell(status, "api_error", text)

    def _refuse(self, err: Refused) -> None:
        self.server.ledger.refused()
        self._tell(err.status, "permission_error" if err.status in (401, 403) else "invalid_request_error", str(err))

    def _tell(self, status: int, kind: str, text: str) -> None:
        """In the form that both APIs use. What the agent has still to send is not waited for."""
        self.close_connection = True
        if self.begun:
            return
        body = json.dumps({"type": "error", "error": {"type": kind, "message": f"damascus: {text}"}}).encode()
        self.send_response_only(status)
        for name, value in (("content-type", "application/json"), ("content-length", str(len(body)))):
            self.send_header(name, value)
        self.send_header("connection", "close")
        self.end_headers()
        self._write(body)


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

    def knows(self, headers: Message) -> bool:
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
