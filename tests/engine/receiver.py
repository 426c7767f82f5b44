"""A server on the loopback that keeps what it is sent and answers as it is told."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass
class Received:
    """One request."""

    path: str
    headers: dict[str, str]
    body: bytes


@dataclass
class Receiver:
    """`answers` are used up one by one; after that it is 200."""

    answers: list[int] = field(default_factory=list)
    got: list[Received] = field(default_factory=list)
    port: int = 0
    answering: threading.Event = field(default_factory=threading.Event)
    """Cleared: who asks waits for its answer."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"


@contextmanager
def receiving(*answers: int) -> Iterator[Receiver]:
    kept = Receiver(list(answers))
    kept.answering.set()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:  # its name is the library's
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            kept.got.append(Received(self.path, {k.lower(): v for k, v in self.headers.items()}, body))
            kept.answering.wait(60)
            self.send_response(kept.answers.pop(0) if kept.answers else 200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Nothing is printed."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        kept.port = server.server_address[1]
        thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        try:
            yield kept
        finally:
            server.shutdown()
            thread.join()
