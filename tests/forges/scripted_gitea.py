"""A loopback server that answers like a Gitea or Forgejo of some version: what its documented API says, by route.

forge.on("GET", "/commits/…/status", {"statuses": []})       the same each time
forge.on("POST", "/pulls", Reply(409, {...}), {...})           one after the other, the last one stays
forge.on("POST", "/issues/1/comments", lambda asked: DROPPED)  a function sees the request; DROPPED: no answer at all
"""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from damascus.forges.http import Api

TOKEN = "token-of-the-scripted-gitea"
PATH = "/repos/o/r"


@dataclass(frozen=True)
class Reply:
    """An answer with another status than 200, with headers, or with no JSON."""

    status: int = 200
    body: object = None
    headers: dict[str, str] = field(default_factory=dict)
    raw: bytes | None = None


DROPPED = Reply(0)


@dataclass(frozen=True)
class Asked:
    """One request."""

    method: str
    path: str
    query: dict[str, str]
    body: Any


class ScriptedGitea:
    """Its routes and what it was asked."""

    def __init__(self, url: str, version: str) -> None:
        self.api = Api(f"{url}/api/v1", lambda: TOKEN)
        self.routes: dict[tuple[str, str], list[object]] = {("GET", "/version"): [{"version": version}]}
        self.asked: list[Asked] = []

    def on(self, method: str, path: str, *answers: object) -> None:
        self.routes[method, PATH + path] = list(answers)

    def calls(self, method: str, path: str) -> list[Asked]:
        return [each for each in self.asked if (each.method, each.path) == (method, PATH + path)]

    def answer(self, asked: Asked) -> Reply:
        self.asked.append(asked)
        answers = self.routes.get((asked.method, asked.path), [Reply(404, {"message": "not found"})])
        found = answers.pop(0) if len(answers) > 1 else answers[0]
        told = found(asked) if callable(found) else found
        return told if isinstance(told, Reply) else Reply(body=told)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    forge: ScriptedGitea


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def log_message(self, format: str, *args: object) -> None:
        return None

    def do_GET(self) -> None:
        parts, length = urlsplit(self.path), int(self.headers.get("Content-Length") or 0)
        body = json.loads(self.rfile.read(length)) if length else None
        path = parts.path.removeprefix("/api/v1")
        reply = self.server.forge.answer(Asked(self.command, path, dict(parse_qsl(parts.query, True)), body))
        if self.path.startswith("/api/") and self.headers.get("Authorization") != f"Bearer {TOKEN}":
            reply = Reply(401, {"message": "token is required"})
        if reply is DROPPED:
            self.close_connection = True
            return
        told = reply.raw if reply.raw is not None else json.dumps(reply.body).encode()
        self.send_response(reply.status)
        for name, value in {"Content-Length": str(len(told)), **reply.headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(told)

    do_POST = do_PATCH = do_DELETE = do_GET  # noqa: N815


@contextmanager
def scripted(version: str) -> Iterator[ScriptedGitea]:
    server = _Server(("127.0.0.1", 0), _Handler)
    server.forge = ScriptedGitea(f"http://127.0.0.1:{server.server_port}", version)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server.forge
    finally:
        server.forge.api.close()
        server.shutdown()
        thread.join()
        server.server_close()
