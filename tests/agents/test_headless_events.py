"""What follows from Codex's and opencode's events, one by one, as they were measured."""

from pathlib import Path
from typing import Any

import pytest

from damascus.agents.headless.codex import CodexReader
from damascus.agents.headless.opencode import OpencodeReader
from damascus.agents.headless.session import Event, EventReader, Provider
from damascus.domain.ports import Denial
from tests.claude_code import Recorder

WORKSPACE = Path("/tmp/workspace")


def names(reader: EventReader, event: Event) -> list[str]:
    return [sign for sign, _ in reader.take(event)]


# ── Codex ─────────────────────────────────────────────────────────────────────────────────────────────


def item(kind: str, **more: object) -> Event:
    return {"type": "item.completed", "item": {"id": "item_1", "type": kind, **more}}


def change(path: str, status: str) -> Event:
    return item("file_change", changes=[{"path": path, "kind": "add"}], status=status)


@pytest.mark.req("D5")
def test_codex_is_finished_by_a_completed_turn_alone() -> None:
    reader = CodexReader(WORKSPACE)
    for event in ({"type": "turn.started"}, item("agent_message", text="Done."), {"type": "turn.failed"}):
        reader.take(event)
        assert not reader.finished
    reader.take({"type": "turn.completed", "usage": {}})
    assert (reader.finished, reader.text) == (True, "Done.")


@pytest.mark.req("D5")
def test_codex_tells_what_was_done_and_what_went_wrong() -> None:
    reader = CodexReader(WORKSPACE)
    assert names(reader, change("/tmp/workspace/a.py", "completed")) == ["accepted", "write"]
    assert names(reader, item("command_execution", command="false", exit_code=1, status="failed")) == ["accepted"]
    assert names(reader, item("reasoning", text="hm")) == []
    reader.take({"type": "error", "message": "Reconnecting... 1/2"})
    assert reader.error == "Reconnecting... 1/2"


@pytest.mark.req("W8")
def test_codex_is_denied_what_it_may_not_and_what_can_not_be_written_outside() -> None:
    reader = CodexReader(WORKSPACE)
    assert names(reader, change("/usr/a.py", "failed")) == ["denied"]
    assert reader.denial and (reader.denial.tool, reader.denial.tried) == ("file_change", "/usr/a.py")
    assert names(reader, change("/tmp/workspace/a.py", "failed")) == ["accepted"]
    assert names(reader, item("command_execution", command="rm x", status="declined")) == ["denied"]
    assert reader.denial == Denial(tool="command_execution", error="declined", tried="rm x")


# ── opencode ──────────────────────────────────────────────────────────────────────────────────────────


def tool(name: str, status: str = "completed", error: str = "", /, **given: object) -> Event:
    state: dict[str, Any] = {"status": status, "input": given, **({"error": error} if error else {"output": "ok"})}
    return {"type": "tool_use", "part": {"type": "tool", "tool": name, "state": state}}


def step(reason: str) -> Event:
    return {"type": "step_finish", "part": {"reason": reason}}


@pytest.mark.req("D5")
def test_opencode_is_finished_by_a_last_step_without_an_error() -> None:
    reader = OpencodeReader(WORKSPACE)
    finished = []
    for event in (step("tool-calls"), step("stop"), {"type": "step_start"}, step("length"), step("stop")):
        reader.take(event)
        finished.append(reader.finished)
    assert finished == [False, True, False, False, True]
    reader.take({"type": "error", "error": {"name": "APIError", "data": {"message": "no such model"}}})
    assert (reader.finished, reader.error) == (False, "no such model")


@pytest.mark.req("W8")
def test_opencode_is_denied_a_withheld_tool_and_a_write_outside() -> None:
    reader = OpencodeReader(WORKSPACE)
    refused = "Unknown: FileSystem.writeFile (/usr/a)"
    assert names(reader, tool("write", "error", refused, filePath="/usr/a")) == ["denied"]
    assert names(reader, tool("write", "error", refused, filePath="../a")) == ["denied"]
    assert names(reader, tool("write", "error", refused, filePath="a")) == ["accepted"]
    assert names(reader, tool("edit", "error", "File /usr/a not found", filePath="/usr/a")) == ["accepted"]
    assert names(reader, tool("bash", "error", "EACCES", command="cat /x")) == ["accepted"]
    assert names(reader, tool("write", filePath="a")) == ["accepted", "write"]
    withheld = tool("invalid", tool="webfetch", error="Model tried to call unavailable tool 'webfetch'.")
    assert names(reader, withheld) == ["denied"] and reader.denial and reader.denial.tool == "webfetch"


@pytest.mark.req("D5")
@pytest.mark.parametrize(
    "event", [{}, {"type": "error"}, {"type": "tool_use", "part": None}, {"type": "item.completed"}]
)
def test_odd_events_are_borne(event: Event) -> None:
    for reader in (CodexReader(WORKSPACE), OpencodeReader(WORKSPACE)):
        words = [*reader.told(event)]
        assert reader.take(event) == [] and not reader.finished and len(words) <= 1


# ── the provider ──────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.req("W18")
def test_the_last_answer_tells_whether_the_provider_is_there() -> None:
    overseer = Recorder()
    provider = Provider(overseer, retries=1)
    provider.saw("api_error", status=400, resets_in=None)
    assert (provider.down, provider.end) == (False, "")
    provider.saw("api_ok")
    provider.saw("api_error", status=503, resets_in=None)
    assert (provider.down, provider.end) == (True, "")
    provider.saw("api_error", status=503, resets_in=None)
    assert (provider.down, provider.end) == (True, "api_errors")
    provider.saw("api_ok")
    assert (provider.down, provider.end, provider.turns) == (False, "", 2)
    provider.saw("api_error", status=429, resets_in=60.0)
    assert provider.end == "api_errors"
    assert (overseer.count("turn"), overseer.count("api_error")) == (2, 4)
