"""Plays recorded exchanges of GitHub's documented API, one after the other, and refuses anything else.

A recording is a JSON list of `request` (method, path below the repository, query, body) and `answer` (status, headers,
body). `{elsewhere}` in a header is the address of another host, where no token may ever arrive.
"""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from damascus.forges.address import Address
from damascus.forges.github.api import GithubApi

RECORDINGS = Path(__file__).parent / "github_exchanges"
ROOT = "/api/v3/repos/example/repo"
TOKEN = "a-token-of-the-test"
LOG = "2026-11-16T04:00:00Z ##[error]Process completed with exit code 1.\n"


class Recording:
    """What is still to come, and what came instead."""

    def __init__(self, exchanges: list[dict[str, Any]]) -> None:
        self.left = list(exchanges)
        self.wrong: list[str] = []
        self.elsewhere: list[dict[str, str]] = []
        self.host = ""
        self.other_host = ""

    @property
    def api(self) -> GithubApi:
        return GithubApi(Address.parse(f"{self.host}/example/repo"), lambda: TOKEN)

    def answer(self, request: dict[str, Any], headers: dict[str, str]) -> dict[str, Any]:
        for name, value in (
            ("authorization", f"Bearer {TOKEN}"),
            ("x-github-api-version", "2022-11-28"),
            ("accept", "application/vnd.github+json"),
        ):
            if headers.get(name) != value:
                self.wrong.append(f"{name} is {headers.get(name)!r}")
        expected = self.left[0]["request"] if self.left else None
        if expected is None or {"query": {}, "body": None, **expected} != request:
            self.wrong.append(f"asked for {request}, recorded is {expected}")
            return {"status": 418, "body": {"message": "not recorded"}}
        told: dict[str, Any] = self.left.pop(0)["answer"]
        return told


class _Host(ThreadingHTTPServer):
    daemon_threads = True
    recording: Recording


class _Exchange(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Host

    def log_message(self, format: str, *args: object) -> None:
        return None

    def do_GET(self) -> None:
        parts, length = urlsplit(self.path), int(self.headers.get("Content-Length") or 0)
        body = json.loads(self.rfile.read(length)) if length else None
        headers = {name.lower(): value for name, value in self.headers.items()}
        if not parts.path.startswith(ROOT):
            self.server.recording.elsewhere.append(headers)
            return self.reply({"status": 200, "body": LOG})
        query = {key: value for key, value in parse_qsl(parts.query) if key not in ("page", "per_page")}
        request = {"method": self.command, "path": parts.path.removeprefix(ROOT), "query": query, "body": body}
        return self.reply(self.server.recording.answer(request, headers))

    do_POST = do_PUT = do_PATCH = do_GET  # noqa: N815

    def reply(self, answer: dict[str, Any]) -> None:
        body = answer.get("body")
        data = body.encode() if isinstance(body, str) else b"" if body is None else json.dumps(body).encode()
        self.send_response_only(answer["status"])
        for name, value in answer.get("headers", {}).items():
            self.send_header(name, value.replace("{elsewhere}", self.server.recording.other_host))
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


@contextmanager
def recorded(name: str) -> Iterator[Recording]:
    """Serve one recording; all of it must have been asked for, and nothing else."""
    recording = Recording(json.loads((RECORDINGS / f"{name}.json").read_text()))
    hosts = [_Host(("127.0.0.1", 0), _Exchange) for _ in range(2)]
    threads = [threading.Thread(target=host.serve_forever, args=(0.05,)) for host in hosts]
    recording.host, recording.other_host = (f"http://127.0.0.1:{host.server_address[1]}" for host in hosts)
    for host, thread in zip(hosts, threads, strict=True):
        host.recording = recording
        thread.start()
    try:
        yield recording
    finally:
        for host, thread in zip(hosts, threads, strict=True):
            host.shutdown()
            thread.join()
            host.server_close()
    assert not recording.wrong, recording.wrong
    assert recording.left == [], "not everything that is recorded was asked for"
