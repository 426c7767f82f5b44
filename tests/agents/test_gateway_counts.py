"""What the bridge reads from answers as they pass: errors, the end of rate limits, usage."""

import socket
from functools import partial
from pathlib import Path
from queue import Queue
from typing import Any

import httpx
import pytest

from damascus.domain.ports import Usage
from damascus.gateway.bridge import GatewayBridge
from tests.agents.bridged import KEY, MESSAGES, agent, bridged, note
from tests.agents.upstream import Gateway, Talk, free_port
from tests.waiting import eventually

DATE = {"date": "Mon, 16 Nov 2026 10:00:00 GMT"}


@pytest.mark.req("X5")
@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "30"}, 30),
        ({"retry-after": "1.5"}, 1.5),
        ({"retry-after-ms": "2500"}, 2.5),
        ({"retry-after": "Mon, 16 Nov 2026 10:02:00 GMT"}, 120),
        ({"anthropic-ratelimit-requests-reset": "2026-11-16T10:01:00Z"}, 60),
        ({"anthropic-ratelimit-unified-reset": "1794823260"}, 60),
        (
            {
                "anthropic-ratelimit-requests-reset": "2026-11-16T10:09:00Z",
                "anthropic-ratelimit-requests-remaining": "40",
                "anthropic-ratelimit-tokens-reset": "2026-11-16T10:01:30Z",
                "anthropic-ratelimit-tokens-remaining": "0",
            },
            90,
        ),
        ({"x-ratelimit-reset-requests": "6m0s"}, 360),
        ({"x-ratelimit-reset-tokens": "120ms", "x-ratelimit-reset-requests": "1s"}, 1),
        ({"x-ratelimit-reset": "45"}, 45),
        ({"llm_provider-retry-after": "12"}, 12),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "99999999"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "Mon, 16 Nov 2026 09:00:00 GMT"}, 0),
        ({}, None),
    ],
)
def test_a_rate_limit_tells_when_it_ends(tmp_path: Path, headers: dict[str, str], seconds: float | None) -> None:
    def answer(talk: Talk) -> None:
        talk.send_response_only(429)
        for name, value in {**headers, **DATE, "content-length": "2"}.items():
            talk.send_header(name, value)
        talk.end_headers()
        talk.wfile.write(b"{}")

    seen: Queue[Any] = Queue()
    with Gateway(answer) as gateway:
        with bridged(gateway, tmp_path, saw=lambda sign, **facts: seen.put((sign, facts))) as (way, client):
            assert client.post(MESSAGES, json={}).status_code == 429
            told = way.facts()
    sign, facts = seen.get(timeout=10)
    assert (sign, facts["status"], told.errors_in_a_row) == ("api_error", 429, 1)
    if seconds is None:
        assert facts["resets_in"] is None and told.resets_in is None
    else:
        assert facts["resets_in"] == pytest.approx(seconds, abs=0.01)
        assert told.resets_in == pytest.approx(seconds, abs=5)


@pytest.mark.req("X5")
def test_the_reset_that_only_the_message_tells_is_found(tmp_path: Path) -> None:
    """As litellm_callback.py writes it."""
    message = "LiteLLM: too many requests " + "x" * 600 + " [resets: retry-after=42; x-ratelimit-remaining-requests=0]"
    with Gateway(lambda talk: talk.reply({"error": {"message": message}}, 429)) as gateway:
        with bridged(gateway, tmp_path) as (way, client):
            client.post(MESSAGES, json={})
            assert way.facts().resets_in == pytest.approx(42, abs=5)


@pytest.mark.req("X5")
def test_errors_in_a_row_are_counted_and_end_with_an_answer(tmp_path: Path) -> None:
    statuses = iter([500, 529, 429, 200, 503])
    seen: list[Any] = []

    def answer(talk: Talk) -> None:
        status = next(statuses)
        talk.reply({"error": {"message": f"that was {status}"}} if status != 200 else {}, status, {"retry-after": "9"})

    with Gateway(answer) as gateway:
        with bridged(gateway, tmp_path, saw=partial(note, seen)) as (way, client):
            for _ in range(3):
                client.post("/v1/responses", json={})
            assert way.facts().errors_in_a_row == 3
            assert way.facts().last_error == "that was 429"
            client.post("/v1/responses", json={})
            assert (way.facts().errors_in_a_row, way.facts().resets_in) == (0, None)
            client.post("/v1/messages/count_tokens", json={})
            assert way.facts().errors_in_a_row == 0, "counting tokens asks no model"
            facts = way.facts()
    assert facts.statuses == {500: 1, 529: 1, 429: 1, 200: 1, 503: 1}
    assert facts.requests == 5
    assert seen == [("api_error", 500), ("api_error", 529), ("api_error", 429), ("api_ok", None)]


@pytest.mark.req("X5")
def test_a_gateway_that_is_not_there_is_an_error_of_its_own(tmp_path: Path) -> None:
    with GatewayBridge(f"http://127.0.0.1:{free_port()}", KEY).open(tmp_path) as way, agent(way) as client:
        got = client.post(MESSAGES, json={})
        assert got.status_code == 502
        assert got.json()["error"]["message"] == "damascus: the model gateway can't be reached (ConnectError)"
        assert way.facts().errors_in_a_row == 1


@pytest.mark.req("X5")
def test_a_gateway_that_is_silent_for_too_long_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from damascus.gateway import upstream as gateway_upstream

    monkeypatch.setattr(gateway_upstream, "PATIENCE", httpx.Timeout(5.0, read=0.05))
    with Gateway(lambda talk: talk.gone() and None) as gateway, bridged(gateway, tmp_path) as (way, client):
        assert client.post(MESSAGES, json={}).status_code == 504
        assert way.facts().last_error == "the model gateway did not answer in time"


@pytest.mark.req("X5")
def test_a_stream_that_breaks_off_breaks_off_for_the_agent_and_is_an_error(tmp_path: Path) -> None:
    def answer(talk: Talk) -> None:
        talk.begin_stream()
        talk.event({"type": "message_start", "message": {"usage": {"input_tokens": 30, "output_tokens": 1}}})
        talk.connection.shutdown(socket.SHUT_RDWR)

    with Gateway(answer) as gateway, bridged(gateway, tmp_path) as (way, client):
        with pytest.raises(httpx.RemoteProtocolError):
            client.post(MESSAGES, json={})
        facts = eventually(lambda: way.facts().errors_in_a_row and way.facts(), what="the error")
        assert "broke off" in facts.last_error
        assert facts.usage == Usage(input_tokens=30, output_tokens=1, turns=1), "what was used is used"


@pytest.mark.req("X5")
@pytest.mark.parametrize(
    ("event", "status"),
    [
        ({"type": "error", "error": {"type": "overloaded_error", "message": "overloaded"}}, 529),
        ({"type": "error", "error": {"type": "rate_limit_error", "message": "overloaded"}}, 429),
        ({"error": {"message": "overloaded", "type": "server_error"}}, 500),
        ({"type": "response.failed", "response": {"error": {"code": "x", "message": "overloaded"}}}, 500),
    ],
)
def test_an_error_inside_a_stream_is_an_error(tmp_path: Path, event: object, status: int) -> None:
    def answer(talk: Talk) -> None:
        talk.begin_stream()
        talk.event(event)
        talk.end_stream()

    seen: list[Any] = []
    with Gateway(answer) as gateway:
        with bridged(gateway, tmp_path, saw=partial(note, seen)) as (way, client):
            assert client.post(MESSAGES, json={}).status_code == 200
            assert way.facts().last_error == "overloaded"
    assert seen == [("api_error", status)]


# ── usage ─────────────────────────────────────────────────────────────────────────────────────────


EXPECTED = Usage(input_tokens=95, output_tokens=10, cached_tokens=7, turns=1)
CHAT = {"prompt_tokens": 102, "completion_tokens": 10, "prompt_tokens_details": {"cached_tokens": 7}}
RESPONSES = {"input_tokens": 102, "output_tokens": 10, "input_tokens_details": {"cached_tokens": 7}}
START = {"input_tokens": 90, "cache_creation_input_tokens": 5, "cache_read_input_tokens": 7, "output_tokens": 1}
ANSWERS: dict[str, tuple[str, list[Any]]] = {
    "messages": (
        MESSAGES,
        [
            {"type": "message_start", "message": {"usage": START}},
            {"type": "content_block_delta", "delta": {"text": 'he said "usage"'}},
            {"type": "message_delta", "usage": {"output_tokens": 10}},
            {"type": "message_stop"},
        ],
    ),
    "messages of LiteLLM": (
        MESSAGES,
        [
            {"type": "message_start", "message": {"usage": {"input_tokens": 0, "output_tokens": 0}}},
            {"type": "message_delta", "usage": {**START, "output_tokens": 10}},
        ],
    ),
    "chat": ("/v1/chat/completions", [{"choices": [], "usage": None}, {"choices": [], "usage": CHAT}, "[DONE]"]),
    "responses": (
        "/v1/responses",
        [
            {"type": "response.created", "response": {"usage": None}},
            {"type": "response.completed", "response": {"usage": RESPONSES}},
        ],
    ),
}


@pytest.mark.req("X5")
@pytest.mark.parametrize("api", ANSWERS)
def test_usage_is_read_from_each_apis_stream(tmp_path: Path, api: str) -> None:
    """Counted before the agent has the event: whoever looks after the agent's end sees it all."""
    path, events = ANSWERS[api]

    def answer(talk: Talk) -> None:
        talk.begin_stream()
        for event in events:
            talk.event(event)
        talk.gone()

    seen: list[Usage] = []
    with Gateway(answer) as gateway:
        with bridged(gateway, tmp_path, saw=lambda sign, **facts: seen.append(facts["usage"])) as (way, client):
            with client.stream("POST", path, json={}) as stream:
                lines = stream.iter_lines()
                for _ in range(2 * len(events) - 1):
                    next(lines)
                assert way.facts().usage == EXPECTED
                assert sum(seen, Usage()) == EXPECTED


@pytest.mark.req("X5")
@pytest.mark.parametrize(
    ("path", "body"),
    [
        (MESSAGES, {"usage": {**START, "output_tokens": 10}}),
        ("/v1/chat/completions", {"usage": CHAT}),
        ("/v1/responses", {"usage": RESPONSES}),
    ],
)
def test_usage_is_read_from_a_whole_answer(tmp_path: Path, path: str, body: object) -> None:
    with Gateway(lambda talk: talk.reply(body)) as gateway, bridged(gateway, tmp_path) as (way, client):
        for _ in range(2):
            client.post(path, json={})
        assert way.facts().usage == EXPECTED + EXPECTED


@pytest.mark.req("X5")
@pytest.mark.parametrize(
    "data",
    [
        "[]",
        "{",
        '{"usage": 5}',
        '{"usage": {"input_tokens": "x"}}',
        '{"usage": {"output_tokens": true}}',
        "[" * 100_000,
    ],
    ids=str.__len__,
)
def test_an_answer_that_can_not_be_read_passes_all_the_same(tmp_path: Path, data: str) -> None:
    with Gateway(lambda talk: talk.reply(data.encode())) as gateway, bridged(gateway, tmp_path) as (way, client):
        assert client.post(MESSAGES, json={}).text == data
        assert way.facts().usage == Usage()


@pytest.mark.req("X5")
def test_events_cut_anywhere_are_read_whole() -> None:
    from damascus.gateway.model_answers import AnswerReader

    text = b'event: x\r\ndata: {"usage": {"input_tokens": 3, "output_tokens": 4}}\r\n\r\n'
    for size in range(1, len(text)):
        reader = AnswerReader("text/event-stream")
        parts = [reader.heard(text[n : n + size]) for n in range(0, len(text), size)]
        assert sum(parts, reader.heard(b"", last=True)) == Usage(input_tokens=3, output_tokens=4, turns=1)
