"""A model that says what a script says, on loopback: Anthropic messages, OpenAI chat completions and responses.

A script is a list of turns, a turn a list of blocks: `say("…")` and `call("Write", file_path=…, content=…)`. Which
turn is due follows from the request alone, from the assistant messages that it holds, so a retry gets the same
answer. Beyond the script the model says "done". Requests without tools (titles, warm-ups) get "ok".

`others` holds scripts for conversations whose first message has the key in it: a sub-agent's, or another story's.
Faults come first: each model request takes one from `faults`, as long as there are any.
"""

import json
import socket
import threading
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Literal, Self

INPUT_TOKENS = 100
OUTPUT_TOKENS = 10
CACHED_TOKENS = 7

Block = dict[str, Any]
Turn = Sequence[Block]
Body = dict[str, Any]


def say(text: str) -> Block:
    return {"text": text}


def call(tool: str, **given: object) -> Block:
    return {"tool": tool, "input": given}


@dataclass(frozen=True)
class Fault:
    """An answer that is none: an error status, silence, or a stream that breaks off."""

    kind: Literal["status", "hang", "drop"] = "status"
    status: int = 500
    headers: Mapping[str, str] = field(default_factory=dict)
    message: str = "the model server was told to fail"


def rate_limited(retry_after: int | None = None) -> Fault:
    headers = {} if retry_after is None else {"retry-after": str(retry_after)}
    return Fault(status=429, headers=headers, message="too many requests")


@dataclass(frozen=True)
class Request:
    """One request as it came."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: Body

    @property
    def asks_the_model(self) -> bool:
        return self.path.endswith(("/messages", "/chat/completions", "/responses"))


class ModelServer:
    """`with ModelServer(script) as server:` listens on `server.url` until the block ends."""

    def __init__(
        self,
        script: Sequence[Turn] = (),
        *,
        faults: Iterator[Fault] | Sequence[Fault] = (),
        others: Mapping[str, Sequence[Turn]] | None = None,
        port: int = 0,
    ) -> None:
        self.script = script
        self.others = dict(others or {})
        self.requests: list[Request] = []
        self.closing = threading.Event()
        self.faults = iter(faults)
        self._lock = threading.Lock()
        self._http = _Http(("127.0.0.1", port), _Handler)
        self._http.model = self
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.closing.set()
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()
        self._http.hang_up()

    @property
    def port(self) -> int:
        return int(self._http.server_address[1])

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def asked(self) -> list[Request]:
        """The requests with tools: turns of an agent."""
        return [each for each in self.requests if each.asks_the_model and each.body.get("tools")]

    def note(self, request: Request) -> Fault | None:
        with self._lock:
            self.requests.append(request)
            return next(self.faults, None) if request.asks_the_model else None

    def turn(self, body: Body, said: int) -> Turn:
        if not body.get("tools"):
            return [say("ok")]
        first = json.dumps(_first_words(body))
        script = next((each for key, each in self.others.items() if key in first), self.script)
        return script[said] if said < len(script) else [say("done")]


class _Http(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 64
    model: ModelServer

    def __init__(self, *where: Any) -> None:
        self._accepted: list[socket.socket] = []
        super().__init__(*where)

    def get_request(self) -> tuple[socket.socket, Any]:
        accepted, address = super().get_request()
        self._accepted.append(accepted)
        return accepted, address

    def hang_up(self) -> None:
        """Also on who keeps a connection for later: the next server at this port may have another script."""
        for each in self._accepted:
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)


def _first_words(body: Body) -> object:
    """What the conversation began with, without the system's part."""
    messages = body.get("messages", body.get("input", []))
    if isinstance(messages, str):
        return messages
    return next((each for each in messages if each.get("role") == "user"), None)


def _turns_said(body: Body) -> int:
    """In the responses API a turn is a run of the model's items, ended by an output or a person's message."""
    if "messages" in body:
        return sum(each.get("role") == "assistant" for each in body["messages"])
    items = body.get("input", [])
    ours = [_by_model(each) for each in items] if isinstance(items, list) else []
    return sum(mine and not before for mine, before in zip(ours, [False, *ours], strict=False))


def _by_model(item: Body) -> bool:
    return item.get("role") == "assistant" or item.get("type") in ("function_call", "custom_tool_call", "reasoning")


def _id(prefix: str) -> str:
    return prefix + uuid.uuid4().hex[:20]


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Http

    def log_message(self, format: str, *args: object) -> None:
        """Nobody reads it."""

    def do_HEAD(self) -> None:
        self._heard({})
        self._json({})

    def do_GET(self) -> None:
        self._heard({})
        self._json({"object": "list", "data": [{"id": "minimax-m3", "object": "model"}]})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers.get("content-length") or 0)) or b"{}")
        fault = self._heard(body)
        with suppress(BrokenPipeError, ConnectionResetError):
            self._fail(fault, body) if fault else self._answer(body)

    def _heard(self, body: Body) -> Fault | None:
        path = self.path.split("?")[0]
        return self.server.model.note(Request(self.command, path, dict(self.headers.items()), body))

    def _answer(self, body: Body) -> None:
        path = self.path.split("?")[0]
        if path.endswith("/count_tokens"):
            self._json({"input_tokens": INPUT_TOKENS})
            return
        speak = SPOKEN.get(path.rsplit("/", 1)[-1])
        if speak is None:
            self._json({"error": {"type": "not_found_error", "message": path}}, 404)
            return
        whole, events = speak(body, self.server.model.turn(body, _turns_said(body)))
        if not body.get("stream"):
            self._json(whole)
            return
        self._begin_stream()
        for event in events:
            self._event(event)
        self.wfile.write(b"0\r\n\r\n")

    def _fail(self, fault: Fault, body: Body) -> None:
        self.close_connection = True
        if fault.kind == "status":
            error = {"type": "error", "error": {"type": "api_error", "message": fault.message}}
            self._json(error, fault.status, fault.headers)
        elif fault.kind == "hang":
            self.server.model.closing.wait()
        else:
            self._begin_stream()
            _, events = SPOKEN[self.path.split("?")[0].rsplit("/", 1)[-1]](body, [say("half of a sen")])
            for event in list(events)[:3]:
                self._event(event)
            self.connection.shutdown(socket.SHUT_RDWR)

    def _json(self, answer: object, status: int = 200, headers: Mapping[str, str] | None = None) -> None:
        data = json.dumps(answer).encode()
        self.send_response(status)
        for name, value in {"content-type": "application/json", **(headers or {})}.items():
            self.send_header(name, value)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def _begin_stream(self) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("transfer-encoding", "chunked")  # so that a stream that breaks off is known from one that ends
        self.end_headers()

    def _event(self, event: Body | str) -> None:
        name = f"event: {event['type']}\n" if isinstance(event, dict) and "type" in event else ""
        data = event if isinstance(event, str) else json.dumps(event)
        piece = f"{name}data: {data}\n\n".encode()
        self.wfile.write(b"%x\r\n%b\r\n" % (len(piece), piece))
        self.wfile.flush()


Spoken = tuple[Body, Iterator[Body | str]]


def _anthropic(body: Body, turn: Turn) -> Spoken:
    blocks: list[Body] = [
        {"type": "text", "text": each["text"]}
        if "text" in each
        else {"type": "tool_use", "id": _id("toolu_"), "name": each["tool"], "input": each["input"]}
        for each in turn
    ]
    stop = "tool_use" if any("tool" in each for each in turn) else "end_turn"
    usage = {"input_tokens": INPUT_TOKENS, "output_tokens": OUTPUT_TOKENS, "cache_read_input_tokens": CACHED_TOKENS}
    message: Body = {
        "id": _id("msg_"), "type": "message", "role": "assistant", "model": body.get("model"), "content": blocks,
        "stop_reason": stop, "stop_sequence": None, "usage": usage,
    }  # fmt: skip
    return message, _anthropic_events(message)


def _anthropic_events(message: Body) -> Iterator[Body | str]:
    begun = {**message, "content": [], "stop_reason": None, "usage": {**message["usage"], "output_tokens": 1}}
    yield {"type": "message_start", "message": begun}
    for n, block in enumerate(message["content"]):
        tool = block["type"] == "tool_use"
        empty = {**block, **({"input": {}} if tool else {"text": ""})}
        yield {"type": "content_block_start", "index": n, "content_block": empty}
        delta = (
            {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
            if tool
            else {"type": "text_delta", "text": block["text"]}
        )
        yield {"type": "content_block_delta", "index": n, "delta": delta}
        yield {"type": "content_block_stop", "index": n}
    delta = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    yield {"type": "message_delta", "delta": delta, "usage": {"output_tokens": OUTPUT_TOKENS}}
    yield {"type": "message_stop"}


def _chat(body: Body, turn: Turn) -> Spoken:
    text = "".join(each.get("text", "") for each in turn)
    calls: list[Body] = [
        {"id": _id("call_"), "type": "function",
         "function": {"name": each["tool"], "arguments": json.dumps(each["input"])}}
        for each in turn if "tool" in each
    ]  # fmt: skip
    message: Body = {"role": "assistant", "content": text or None, **({"tool_calls": calls} if calls else {})}
    finish = "tool_calls" if calls else "stop"
    base = {"id": _id("chatcmpl-"), "created": 0, "model": body.get("model")}
    usage = {"prompt_tokens": INPUT_TOKENS, "completion_tokens": OUTPUT_TOKENS,
             "total_tokens": INPUT_TOKENS + OUTPUT_TOKENS}  # fmt: skip
    choice = {"index": 0, "message": message, "finish_reason": finish}
    whole = {**base, "object": "chat.completion", "choices": [choice], "usage": usage}
    return whole, _chat_events({**base, "object": "chat.completion.chunk"}, text, calls, finish, usage)


def _chat_events(base: Body, text: str, calls: list[Body], finish: str, usage: Body) -> Iterator[Body | str]:
    def chunk(delta: Body, reason: str | None = None) -> Body:
        return {**base, "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]}

    yield chunk({"role": "assistant", "content": ""})
    if text:
        yield chunk({"content": text})
    for n, each in enumerate(calls):
        yield chunk({"tool_calls": [{"index": n, **each}]})
    yield chunk({}, finish)
    yield {**base, "choices": [], "usage": usage}
    yield "[DONE]"


def _responses(body: Body, turn: Turn) -> Spoken:
    items: list[Body] = [
        {"type": "message", "id": _id("msg_"), "role": "assistant", "status": "completed",
         "content": [{"type": "output_text", "text": each["text"], "annotations": []}]}
        if "text" in each else
        {"type": "function_call", "id": _id("fc_"), "call_id": _id("call_"), "status": "completed",
         "name": each["tool"], "arguments": json.dumps(each["input"])}
        for each in turn
    ]  # fmt: skip
    usage = {
        "input_tokens": INPUT_TOKENS, "input_tokens_details": {"cached_tokens": 0}, "output_tokens": OUTPUT_TOKENS,
        "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": INPUT_TOKENS + OUTPUT_TOKENS,
    }  # fmt: skip
    whole: Body = {"id": _id("resp_"), "object": "response", "created_at": 0, "status": "completed",
                   "model": body.get("model"), "output": items, "usage": usage}  # fmt: skip
    return whole, _responses_events(whole)


def _responses_events(whole: Body) -> Iterator[Body | str]:
    yield {"type": "response.created", "response": {**whole, "status": "in_progress", "output": [], "usage": None}}
    for n, item in enumerate(whole["output"]):
        where = {"item_id": item["id"], "output_index": n}
        yield {"type": "response.output_item.added", "output_index": n, "item": item}
        if item["type"] == "message":
            text = item["content"][0]["text"]
            yield {"type": "response.output_text.delta", **where, "content_index": 0, "delta": text}
        else:
            yield {"type": "response.function_call_arguments.delta", **where, "delta": item["arguments"]}
        yield {"type": "response.output_item.done", "output_index": n, "item": item}
    yield {"type": "response.completed", "response": whole}


SPOKEN = {"messages": _anthropic, "completions": _chat, "responses": _responses}
