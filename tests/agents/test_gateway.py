"""The bridge: an agent's only way out, with the real key put on outside, and nothing but the model's API behind it."""

import hashlib
import socket
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx
import pytest

from damascus.gateway import requests as gateway_requests
from damascus.gateway import server as gateway_server
from damascus.gateway.bridge import GatewayBridge, WayOut
from damascus.system.sandbox import Level
from tests.agents.bridged import KEY, MESSAGES, agent, bridged
from tests.agents.upstream import Gateway, Talk
from tests.waiting import eventually


@pytest.mark.req("D5")
def test_events_pass_one_by_one(tmp_path: Path) -> None:
    """Each event is sent only after the agent has read the one before it: a bridge that buffers never ends this."""
    turn = threading.Semaphore(1)

    def answer(talk: Talk) -> None:
        talk.begin_stream()
        for n in range(5):
            assert turn.acquire(timeout=10)
            talk.event({"n": n})
        talk.end_stream()

    with Gateway(answer) as gateway, bridged(gateway, tmp_path) as (_, client):
        got = []
        with client.stream("POST", MESSAGES, json={}) as stream:
            for line in stream.iter_lines():
                if line:
                    got.append(line)
                    turn.release()
    assert got == [f'data: {{"n": {n}}}' for n in range(5)]


@pytest.mark.req("D5")
def test_a_request_reaches_the_gateway_while_it_is_still_being_written(tmp_path: Path) -> None:
    arrived = threading.Event()

    def answer(talk: Talk) -> None:
        first = talk.piece()
        arrived.set()
        talk.reply({"got": len(first) + sum(len(piece) for piece in iter(talk.piece, b""))})

    def body() -> Iterator[bytes]:
        yield b"x" * 1000
        assert arrived.wait(10)
        yield b"y" * 1000

    with Gateway(answer, reads_first=False) as gateway, bridged(gateway, tmp_path) as (_, client):
        assert client.post(MESSAGES, content=body()).json() == {"got": 2000}


@pytest.mark.req("D5")
@pytest.mark.parametrize("chunked", [False, True])
def test_a_large_body_arrives_whole(tmp_path: Path, chunked: bool) -> None:
    data = hashlib.shake_256(b"large").digest(20_000_000)

    def answer(talk: Talk) -> None:
        talk.reply(talk.body, headers={"x-seen": hashlib.sha256(talk.body).hexdigest()})

    with Gateway(answer) as gateway, bridged(gateway, tmp_path) as (_, client):
        content = (data[n : n + 100_000] for n in range(0, len(data), 100_000)) if chunked else data
        got = client.post(MESSAGES, content=content)
        assert got.headers["x-seen"] == hashlib.sha256(data).hexdigest()
        assert got.content == data


@pytest.mark.req("W9")
@pytest.mark.parametrize("chunked", [False, True])
def test_a_body_over_the_limit_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chunked: bool) -> None:
    monkeypatch.setattr(gateway_requests, "BODY_LIMIT", 1000)
    with Gateway() as gateway, bridged(gateway, tmp_path) as (way, client):
        content: Any = iter([b"x" * 600, b"x" * 600]) if chunked else b"x" * 1001
        assert client.post(MESSAGES, content=content).status_code == 413
        assert gateway.asked == []
        assert client.post(MESSAGES, content=b"x" * 1000).status_code == 200
        assert way.facts().refused == 1


@pytest.mark.req("D5")
def test_requests_at_once_do_not_wait_for_each_other(tmp_path: Path) -> None:
    together = threading.Barrier(16)

    def answer(talk: Talk) -> None:
        together.wait(20)
        talk.reply({"said": talk.body.decode()})

    with Gateway(answer) as gateway, bridged(gateway, tmp_path) as (way, client), ThreadPoolExecutor(16) as pool:
        said = list(pool.map(lambda n: client.post(MESSAGES, content=str(n)).json()["said"], range(16)))
        assert said == [str(n) for n in range(16)]
        assert way.facts().statuses == {200: 16}


@pytest.mark.req("W9")
def test_an_agent_can_not_take_all_threads_of_the_worker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gateway_server, "MOST_CONNECTIONS", 3)
    with Gateway() as gateway, GatewayBridge(gateway.url, KEY).open(tmp_path) as way:
        held = [socket.socket(socket.AF_UNIX) for _ in range(4)]
        for each in held:
            each.settimeout(10)
            each.connect(str(way.socket))
        assert held[3].recv(1) == b""
        held[0].close()
        with agent(way) as client:
            eventually(lambda: status_of(client) == 200, what="a free connection")
        for each in held:
            each.close()


def status_of(client: httpx.Client) -> int:
    try:
        return client.post(MESSAGES).status_code
    except httpx.HTTPError:
        return 0


# ── the key ───────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.req("D5")
@pytest.mark.parametrize(
    ("bearer", "shows", "expected"),
    [
        (None, {"x-api-key": "dummy"}, {"x-api-key": KEY}),
        (None, {"authorization": "Bearer dummy"}, {"authorization": f"Bearer {KEY}"}),
        (None, {"x-api-key": "dummy", "authorization": "Bearer dummy"}, {"x-api-key": KEY}),
        (True, {"x-api-key": "dummy"}, {"authorization": f"Bearer {KEY}"}),
        (False, {"authorization": "Bearer dummy"}, {"x-api-key": KEY}),
    ],
)
def test_the_real_key_takes_the_place_of_the_agents(
    tmp_path: Path, bearer: bool | None, shows: dict[str, str], expected: dict[str, str]
) -> None:
    with Gateway() as gateway, GatewayBridge(gateway.url, KEY, bearer=bearer).open(tmp_path) as way:
        with agent(way) as client:
            del client.headers["x-api-key"]
            client.post(f"{MESSAGES}?beta=true", headers=shows, json={})
        (asked,) = gateway.asked
        told = {name.lower(): value for name, value in asked.headers.items()}
        assert {name: told[name] for name in told if name in ("x-api-key", "authorization")} == expected
        assert told["host"] == gateway.host
        assert asked.target == f"{MESSAGES}?beta=true"


@pytest.mark.req("W9")
def test_only_headers_of_the_model_api_pass(tmp_path: Path) -> None:
    given = {
        "anthropic-version": "2023-06-01", "anthropic-beta": "a,b", "content-type": "application/json",
        "cookie": "a=b", "x-litellm-api-key": "x", "x-forwarded-for": "1.2.3.4", "proxy-authorization": "Basic eDp5",
        "api-key": "x", "x-litellm-tags": "t", "forwarded": "for=1.2.3.4", "host": "elsewhere.example",
    }  # fmt: skip
    with Gateway() as gateway, bridged(gateway, tmp_path) as (_, client):
        client.post(MESSAGES, headers=given, content=b"{}")
        told = {name.lower() for name in gateway.asked[0].headers}
    assert told & set(given) == {"anthropic-version", "anthropic-beta", "content-type", "host"}
    assert gateway.asked[0].headers["Host"] == gateway.host


@pytest.mark.req("D5")
def test_a_probe_carries_no_key(tmp_path: Path) -> None:
    with Gateway() as gateway, bridged(gateway, tmp_path) as (way, client):
        assert client.head("/").status_code == 200
        assert client.get("/api/hello").status_code == 200
        assert client.get("/v1/models").status_code == 200
        keys = [asked.headers.get("x-api-key") for asked in gateway.asked]
        assert keys == [None, None, KEY]
        assert way.facts().errors_in_a_row == 0


@pytest.mark.req("D5")
def test_the_key_is_in_no_answer_no_fact_and_no_output(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    def answer(talk: Talk) -> None:
        shown = talk.headers["x-api-key"]
        talk.reply({"error": {"message": f"the key {shown} is not known"}}, 401, {"x-why": f"key={shown}"})

    bridge_seen: list[object] = []
    with Gateway(answer) as gateway:
        bridge = GatewayBridge(gateway.url, KEY)
        with bridge.open(tmp_path, saw=lambda *a, **k: bridge_seen.append((a, k))) as way, agent(way) as client:
            got = client.post(MESSAGES, json={})
            assert got.status_code == 401
            seen = [got.text, str(got.headers), repr(way.facts()), repr(bridge), repr(bridge_seen), repr(way)]
            assert way.facts().last_error == "the key *** is not known"
            assert gateway.asked[0].headers["x-api-key"] == KEY
    out, err = capfd.readouterr()
    assert [text for text in (*seen, out, err) if KEY in text] == []
    assert err == ""


@pytest.mark.req("W9")
def test_a_port_of_the_machine_asks_for_the_steps_own_key(tmp_path: Path) -> None:
    with Gateway() as gateway, GatewayBridge(gateway.url, KEY).open(tmp_path) as way:
        assert way.base_url(Level.UNCONFINED) == way.base_url(Level.LANDLOCK) == f"http://127.0.0.1:{way.port}"
        assert way.prefix(Level.LANDLOCK) == way.prefix(Level.UNCONFINED) == []
        with httpx.Client(base_url=way.base_url(Level.LANDLOCK), trust_env=False) as client:
            assert client.post(MESSAGES, json={}).status_code == 401
            assert client.post(MESSAGES, headers={"x-api-key": "sk-damascus-guess"}).status_code == 401
            assert client.post(MESSAGES, headers={"authorization": f"Bearer {KEY}"}).status_code == 401
            assert gateway.asked == []
            assert client.post(MESSAGES, headers={"x-api-key": way.key}).status_code == 200
            assert client.post(MESSAGES, headers={"authorization": f"Bearer {way.key}"}).status_code == 200


@pytest.mark.req("W9")
def test_no_port_is_open_in_a_sandbox_of_its_own(tmp_path: Path) -> None:
    with Gateway() as gateway, GatewayBridge(gateway.url, KEY).open(tmp_path) as way:
        way.base_url(Level.BUBBLEWRAP), way.prefix(Level.BUBBLEWRAP), way.port_at(Level.BUBBLEWRAP)
        assert len(way._listeners) == 1


# ── what may pass ─────────────────────────────────────────────────────────────────────────────────


def raw(way: WayOut, text: str) -> str:
    with socket.socket(socket.AF_UNIX) as line:
        line.settimeout(10)
        line.connect(str(way.socket))
        line.sendall(text.encode("latin-1"))
        return b"".join(iter(lambda: line.recv(65536), b"")).decode()


FORBIDDEN = [
    "GET / HTTP/1.1", "POST / HTTP/1.1", "GET /v1/messages HTTP/1.1", "DELETE /v1/models HTTP/1.1",
    "POST /key/generate HTTP/1.1", "GET /health HTTP/1.1", "GET /config/yaml HTTP/1.1", "POST /v1/files HTTP/1.1",
    "POST /v1/messages/ HTTP/1.1", "POST /v1/messages/../../key/generate HTTP/1.1",
    "POST /v1/messages/batches HTTP/1.1", "POST /V1/messages HTTP/1.1", "POST /v1/%6dessages HTTP/1.1",
    "POST /v1/messages#x HTTP/1.1", "GET http://127.0.0.1:1/v1/models HTTP/1.1", "CONNECT 127.0.0.1:1 HTTP/1.1",
    "OPTIONS * HTTP/1.1", "PUT /v1/messages HTTP/1.1", "POST /v1/messages?a=%zz\" HTTP/1.1", "TRACE / HTTP/1.1",
]  # fmt: skip


@pytest.mark.req("W9")
def test_nothing_but_the_models_api_can_be_reached(tmp_path: Path) -> None:
    with Gateway() as gateway, GatewayBridge(gateway.url, KEY).open(tmp_path) as way:
        got = {line: raw(way, f"{line}\r\nhost: x\r\ncontent-length: 0\r\n\r\n").split("\r\n")[0] for line in FORBIDDEN}
        assert {line: status for line, status in got.items() if not status.startswith("HTTP/1.1 403")} == {}
        assert gateway.asked == []
        assert way.facts().refused == len(FORBIDDEN)
        assert raw(way, "POST /v1/messages HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").startswith("HTTP/1.1 200")


@pytest.mark.req("W9")
@pytest.mark.parametrize(
    "headers",
    [
        "content-length: 5\r\ntransfer-encoding: chunked",
        "content-length: 5\r\ncontent-length: 6",
        "content-length: -1",
        "content-length: 1_0",
        "transfer-encoding: gzip, chunked",
    ],
)
def test_a_request_that_tells_its_length_in_two_ways_is_refused(tmp_path: Path, headers: str) -> None:
    """What the bridge takes for a body could be a second request for the gateway."""
    with Gateway() as gateway, GatewayBridge(gateway.url, KEY).open(tmp_path) as way:
        said = raw(way, f"POST {MESSAGES} HTTP/1.1\r\nhost: x\r\n{headers}\r\n\r\nGET /key/info HTTP/1.1\r\n\r\n")
        assert said.startswith("HTTP/1.1 400")
        assert said.count("HTTP/1.1") == 1
        assert gateway.asked == []


@pytest.mark.req("W9")
def test_chunks_that_are_none_end_the_request(tmp_path: Path) -> None:
    with Gateway(reads_first=False) as gateway, GatewayBridge(gateway.url, KEY).open(tmp_path) as way:
        said = raw(
            way, f"POST {MESSAGES} HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n+5\r\nhello\r\n0\r\n\r\n"
        )
        assert said.startswith("HTTP/1.1 400")


@pytest.mark.req("W9")
def test_what_follows_a_body_that_nobody_read_is_no_request(tmp_path: Path) -> None:
    """The gateway answers before it has the body: the rest of it must not be taken for the next request.

    Head and requests have 128 and 64 bytes, so that wherever reading stops, a whole request would follow.
    """
    inner = f"POST /v1/responses HTTP/1.1\r\nhost: {'x' * 25}\r\n\r\n"
    body = inner * 10_000
    start = f"POST {MESSAGES} HTTP/1.1\r\ncontent-length: {len(body)}\r\nhost: "
    head = f"{start}{'x' * (124 - len(start))}\r\n\r\n"
    assert (len(head), len(inner)) == (128, 64)
    with Gateway(reads_first=False) as gateway, GatewayBridge(gateway.url, KEY).open(tmp_path) as way:
        with socket.socket(socket.AF_UNIX) as line:
            line.settimeout(5)
            line.connect(str(way.socket))
            with suppress(OSError):
                line.sendall((head + body).encode())
            with suppress(OSError):
                while line.recv(65536):
                    pass
        eventually(lambda: not way._listeners[0]._connections, what="the end of the connection")
        assert [asked.target for asked in gateway.asked] == [MESSAGES]


@pytest.mark.req("W9")
def test_a_redirect_is_not_followed(tmp_path: Path) -> None:
    with Gateway() as elsewhere:
        with Gateway(lambda talk: talk.reply(None, 307, {"location": f"{elsewhere.url}/v1/messages"})) as gateway:
            with bridged(gateway, tmp_path) as (way, client):
                got = client.post(MESSAGES, json={})
                assert (got.status_code, "location" in got.headers) == (502, False)
                assert "redirect" in way.facts().last_error
    assert elsewhere.asked == []
