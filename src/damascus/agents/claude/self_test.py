"""Does this Claude Code really block a write whose hook fails? Tried with the program itself, once per program.

Hooks fail open by nature, and a misread setting leaves them open without a word. So before a program is trusted it
gets a model of ours, on loopback, that asks for two writes: the hook of the first allows, that of the second fails.
Only a program that writes the first and not the second may work. The outcome is kept for exactly this program (path,
size, time of change) and exactly the way we start it.
"""

import hashlib
import json
import os
import socket
import socketserver
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import h11

from damascus.agents.claude.command_line import PLAIN, QUIET, arguments, settings
from damascus.agents.claude.protocol import Conversation, hooks
from damascus.domain.ports import WriteDecision
from damascus.system import process
from damascus.system.http_incoming import IncomingHttp
from damascus.system.scratch import scratch_folder

LIMIT = 60.0
REFUSED, ALLOWED = "refused.txt", "allowed.txt"
ONE_AT_A_TIME = threading.Lock()


def untrusted(program: Path, state: Path) -> str:
    """Why this program's hooks can't be trusted; "" when they were seen to block."""
    kept = state / "claude-hooks" / fingerprint(program)
    with ONE_AT_A_TIME:
        if kept.exists():
            return ""
        why = _tried(program)
        if not why:
            kept.parent.mkdir(parents=True, exist_ok=True)
            kept.write_text(f"{program}\n")
        return why


def fingerprint(program: Path) -> str:
    """This program, and the way we start it."""
    facts = os.stat(program)
    known = [str(program.resolve()), facts.st_size, facts.st_mtime_ns]
    way = [arguments(program, "", 0), hooks(LIMIT), QUIET, PLAIN]
    return hashlib.sha256(json.dumps([known, way]).encode()).hexdigest()


class _Trial:
    """The pipeline of the test: it allows one file and fails at the other."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def propose(self, tool: str, given: Mapping[str, object]) -> WriteDecision:
        name = Path(str(given.get("file_path"))).name
        self.asked.append(name)
        if name == REFUSED:
            raise RuntimeError("this hook fails on purpose")
        return WriteDecision(allowed=True)

    def applied(self, tool: str, given: Mapping[str, object]) -> str:
        return ""


def _tried(program: Path) -> str:
    trial = _Trial()
    aside = tempfile.TemporaryDirectory(prefix="damascus-", dir=scratch_folder(), ignore_cleanup_errors=True)
    with aside as name, _model() as url:
        folder = Path(name).resolve()
        for part in ("work", "home", "tmp"):
            (folder / part).mkdir()
        talk = Conversation("Write two files.", trial, lambda event: None, LIMIT)
        home, tmp = folder / "home", folder / "tmp"
        env = {"PATH": os.environ.get("PATH", os.defpath), "HOME": str(home), "TMPDIR": str(tmp), "TERM": "dumb"}
        done = process.run(
            arguments(program, "self-test", 50),
            cwd=folder / "work",
            env=env | settings(url, "sk-dummy", home / ".claude", tmp, retries=0, api_seconds=LIMIT),
            log=folder / "stream", timeout=LIMIT, merge_stderr=False, talk=talk,
        )  # fmt: skip
        talk.close()
        refused, allowed = (folder / "work" / REFUSED).exists(), (folder / "work" / ALLOWED).exists()
    if refused:
        return f"{program} wrote a file although the hook that guards it had failed"
    if trial.asked == [ALLOWED, REFUSED] and allowed:
        return ""
    told = done.tail.strip().splitlines()
    return f"{program} could not be tested: {talk.trouble or (told[-1][:300] if told else 'it said nothing')}"


class _Model(socketserver.BaseRequestHandler):
    """Asks for the first file, then for the second, then is content."""

    request: socket.socket

    def handle(self) -> None:
        http = IncomingHttp(self.request)
        head = http.request()
        if head is None:
            return
        body = json.loads(b"".join(http.body()) or b"{}")
        said = sum(each.get("role") == "assistant" for each in body.get("messages", []))
        headers = [("content-type", "text/event-stream"), ("connection", "close")]
        http.send(h11.Response(status_code=200, headers=headers))
        for event in _answer(said) if head.method == b"POST" else ():
            http.send(h11.Data(data=f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode()))
        http.send(h11.EndOfMessage())


class _Server(socketserver.ThreadingTCPServer):
    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        """A program that breaks off, or says what can't be read, is told of by what it did not write."""


def _answer(said: int) -> Iterator[dict[str, Any]]:
    usage = {"input_tokens": 1, "output_tokens": 1}
    yield {
        "type": "message_start",
        "message": {"id": f"msg_{said}", "type": "message", "role": "assistant", "model": "self-test", "content": [],
                    "stop_reason": None, "stop_sequence": None, "usage": usage},
    }  # fmt: skip
    if said < 2:
        written = json.dumps({"file_path": (ALLOWED, REFUSED)[said], "content": "self-test\n"})
        block: dict[str, Any] = {"type": "tool_use", "id": f"toolu_{said}", "name": "Write", "input": {}}
        delta = {"type": "input_json_delta", "partial_json": written}
    else:
        block, delta = {"type": "text", "text": ""}, {"type": "text_delta", "text": "done"}
    yield {"type": "content_block_start", "index": 0, "content_block": block}
    yield {"type": "content_block_delta", "index": 0, "delta": delta}
    yield {"type": "content_block_stop", "index": 0}
    ended = {"stop_reason": "tool_use" if said < 2 else "end_turn", "stop_sequence": None}
    yield {"type": "message_delta", "delta": ended, "usage": usage}
    yield {"type": "message_stop"}


@contextmanager
def _model() -> Iterator[str]:
    server = _Server(("127.0.0.1", 0), _Model)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
