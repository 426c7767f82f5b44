"""What follows from Claude Code's events, one by one, as they were measured."""

from collections.abc import Mapping
from typing import Any

import pytest

from damascus.agents.claude.events import LONGEST_WAIT, StreamAccount
from damascus.agents.transcript import told
from damascus.domain.ports import Denial, Usage

Event = Mapping[str, Any]


def said(message: str, *blocks: Event, usage: Event | None = None, **more: object) -> Event:
    used = usage or {"input_tokens": 0, "output_tokens": 0}
    return {"type": "assistant", "message": {"id": message, "model": "m", "content": [*blocks], "usage": used}, **more}


def calls(number: str, name: str, **given: object) -> Event:
    return {"type": "tool_use", "id": number, "name": name, "input": given}


def answer(number: str, text: str, decision: Event | None = None, error: bool = True) -> Event:
    block = {"type": "tool_result", "tool_use_id": number, "content": text, "is_error": error}
    meta = [{"id": number, "permission_decision": decision}] if decision else None
    return {"type": "user", "message": {"content": [block]}, "tool_result_meta": meta}


def piece(**event: object) -> Event:
    return {"type": "stream_event", "event": event}


def result(**more: object) -> Event:
    return {"type": "result", "subtype": "success", "is_error": False, "terminal_reason": "completed", **more}


def account(*events: Event) -> StreamAccount:
    made = StreamAccount()
    for event in events:
        made.take(event)
    return made


def names(made: StreamAccount, event: Event) -> list[str]:
    return [sign for sign, _ in made.take(event) if sign != "output"]


@pytest.mark.req("D5")
def test_a_message_in_several_events_is_counted_once() -> None:
    used = {"input_tokens": 100, "output_tokens": 1, "cache_read_input_tokens": 7, "cache_creation_input_tokens": 5}
    made = account(
        said("m1", {"type": "text", "text": "a"}, usage=used),
        said("m1", calls("t1", "Bash"), usage=used),
        piece(type="message_delta", usage={"output_tokens": 10}),
        said("m2", usage=used),
    )
    assert made.usage == Usage(input_tokens=210, output_tokens=11, cached_tokens=14, turns=2)


@pytest.mark.req("D5")
def test_the_totals_of_the_result_win() -> None:
    """On OpenAI's route the messages tell no tokens; sub-agents' are in the totals by model only."""
    model = {"inputTokens": 300, "outputTokens": 30, "cacheReadInputTokens": 21, "cacheCreationInputTokens": 1}
    made = account(said("m1"), result(modelUsage={"a": model, "b": model}, usage={"input_tokens": 300}))
    assert made.usage == Usage(input_tokens=602, output_tokens=60, cached_tokens=42, turns=1)


@pytest.mark.req("D5")
def test_a_message_is_one_turn_and_a_made_up_one_is_none() -> None:
    made = StreamAccount()
    assert names(made, piece(type="message_start", message={"id": "m1", "usage": {}})) == ["turn"]
    assert names(made, said("m1", {"type": "text", "text": "x"})) == []
    made_up = said("m2", {"type": "text", "text": "API Error"})
    made_up["message"]["model"] = "<synthetic>"
    assert names(made, made_up) == []
    assert made.usage.turns == 1


REJECTED = {"decision": "reject", "source": "config"}
BY_OUR_HOOK = {"decision": "reject", "source": "hook", "reason_type": "hook"}
ACCEPTED = {"decision": "accept", "source": "config", "reason_type": "mode"}


@pytest.mark.req("W8")
@pytest.mark.parametrize(
    ("tool", "text", "decision"),
    [
        ("Write", "Permission for this tool use was denied.", REJECTED),
        ("Write", "EROFS: read-only file system, open 'a'", ACCEPTED),
        ("Edit", "EACCES: permission denied, open 'a'", None),
        ("WebFetch", "<tool_use_error>Error: No such tool available: WebFetch</tool_use_error>", None),
        ("Bash", "Permission to use Bash has been denied", REJECTED),
    ],
)
def test_what_counts_as_a_denial(tool: str, text: str, decision: Event | None) -> None:
    made = account(said("m1", calls("t1", tool, file_path="a", command="b")))
    [(sign, facts)] = made.take(answer("t1", text, decision))
    assert (sign, facts["denial"]) == ("denied", Denial(tool=tool, error=text, tried="a"))


@pytest.mark.req("W8")
@pytest.mark.parametrize(
    ("tool", "text", "decision", "signs"),
    [
        ("Write", "PreToolUse:Write hook error: a secret", BY_OUR_HOOK, []),
        ("Bash", "Exit code 1\npermission denied", ACCEPTED, ["accepted"]),
        ("Bash", "bash: a: EACCES Permission denied", ACCEPTED, ["accepted"]),
        ("Bash", "No such tool available", ACCEPTED, ["accepted"]),
        ("Read", "EACCES: permission denied, open '/etc/shadow'", ACCEPTED, ["accepted"]),
    ],
)
def test_what_does_not(tool: str, text: str, decision: Event, signs: list[str]) -> None:
    made = account(said("m1", calls("t1", tool)))
    assert names(made, answer("t1", text, decision)) == signs
    assert made.denial is None and made.end == ""


@pytest.mark.req("W8")
def test_a_write_that_happened_is_a_write() -> None:
    made = account(said("m1", calls("t1", "Write", file_path="a.py"), calls("t2", "Bash", command="ls")))
    assert made.take(answer("t1", "File created", ACCEPTED, error=False)) == [
        ("accepted", {"tool": "Write"}),
        ("write", {"tool": "Write", "path": "a.py"}),
    ]
    assert names(made, answer("t2", "a.py", ACCEPTED, error=False)) == ["accepted"]


@pytest.mark.req("A10")
@pytest.mark.parametrize(
    "event",
    [
        {"type": "system", "subtype": "informational", "tag": "hook_no_verdict", "content": "no usable answer"},
        {"type": "system", "subtype": "informational", "tag": "hook_callback_failed", "content": "it failed"},
        answer("t1", "PreToolUse hook did not respond before its timeout (host client may be unreachable)."),
    ],
)
def test_a_hook_without_a_verdict_ends_it(event: Event) -> None:
    made = account(said("m1", calls("t1", "Write")))
    assert names(made, event) == ["hook_failed"]
    assert made.end == "hook"


@pytest.mark.req("A10")
def test_a_command_that_prints_a_hooks_words_ends_nothing() -> None:
    made = account(said("m1", calls("t1", "Bash")))
    names(made, answer("t1", "hook did not respond before its timeout", ACCEPTED, error=False))
    assert made.end == ""


def failed(status: int | None, text: str = "API Error") -> Event:
    return result(is_error=True, terminal_reason="api_error", api_error_status=status, result=text)


@pytest.mark.req("D5", "W18")
@pytest.mark.parametrize("status", [429, 500, 502, 503, 504, 529, 408, None])
def test_a_provider_that_may_come_back_is_unavailable(status: int | None) -> None:
    made = account(failed(status))
    assert made.unavailable == "API Error" and made.failed


@pytest.mark.req("D5")
@pytest.mark.parametrize("status", [400, 401, 403, 404, 413])
def test_a_request_that_is_wrong_stays_wrong(status: int) -> None:
    made = account(failed(status))
    assert made.unavailable == "" and made.failed


@pytest.mark.req("D5", "W18")
@pytest.mark.parametrize(("seconds", "end"), [(1.0, ""), (LONGEST_WAIT + 1, "api_errors")])
def test_a_long_wait_is_not_its_own(seconds: float, end: str) -> None:
    retry = {"type": "system", "subtype": "api_retry", "error_status": 429, "retry_delay_ms": seconds * 1000}
    made = account({**retry, "error": "rate_limit"})
    assert (made.end, made.resets_in) == (end, seconds)
    assert bool(made.unavailable) is bool(end)
    made.take(piece(type="message_stop"))
    assert made.resets_in is None


@pytest.mark.req("D5")
def test_success_is_a_claim_and_the_end_of_turns_is_none() -> None:
    made = account(result(result="All tests pass.", num_turns=3))
    assert (made.summary, made.claims["subtype"], made.failed) == ("All tests pass.", "success", False)
    assert account(result(subtype="error_max_turns", is_error=True)).out_of_turns
    assert account().failed, "without a result nothing is finished"


JUNK: list[Event] = [
    {},
    {"type": 3},
    {"type": "assistant"},
    {"type": "assistant", "message": "x"},
    {"type": "assistant", "message": {"content": "x", "usage": []}},
    {"type": "user", "message": {"content": [1, {"type": "tool_result"}]}, "tool_result_meta": "x"},
    {"type": "user", "message": {"content": "x"}, "tool_result_meta": [1]},
    {"type": "stream_event", "event": "x"},
    {"type": "stream_event", "event": {"type": "message_delta", "usage": {"output_tokens": "many"}}},
    {"type": "system", "subtype": "api_retry", "retry_delay_ms": "soon"},
    {"type": "result", "modelUsage": {"m": 3}, "api_error_status": "x", "terminal_reason": "api_error"},
]


@pytest.mark.req("W9")
@pytest.mark.parametrize("event", JUNK)
def test_an_event_of_another_shape_is_no_trouble(event: Event) -> None:
    made = account(said("m1", calls("t1", "Write")), event)
    assert list(told(event)) is not None
    assert isinstance(made.unavailable + made.summary + made.end, str) and made.usage.turns == 1
