"""What Claude Code's event stream tells: signs for the overseer, and facts for the end of the step. No I/O.

The stream is what a program says of itself: `subtype: success` and exit code 0 come also with an API error or when
every tool was denied. So the facts kept here are about trouble and use; whether the work is done, git says.

Tokens and API errors are told to the overseer by the bridge, which sees every answer of the provider (gateway.py).

A denial counts (W8) when its permission system or the sandbox refused a tool. A refusal of our own hook is repair
advice, and the words "permission denied" in a command's output are just its output. How many denials are too many is
the overseer's to say.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from damascus.domain.failures import transient_status
from damascus.domain.ports import Denial, Usage
from damascus.domain.signs import EndedBy, Observation, Sign

Event = Mapping[str, Any]

WRITING = frozenset({"Write", "Edit", "MultiEdit", "NotebookEdit"})
SHELL = "Bash"
LONGEST_WAIT = 15.0
"""Seconds that the CLI may wait for a provider by itself; longer waits are the orchestrator's, without a process."""
SYNTHETIC = "<synthetic>"
NO_VERDICT = frozenset({"hook_no_verdict", "hook_callback_failed"})
HOOK_SILENT = "hook did not respond before its timeout"
SANDBOXED = re.compile(r"\b(EACCES|EPERM|EROFS)\b")
NO_SUCH_TOOL = "No such tool available"
MOST_WORDS = 500


@dataclass
class StreamAccount:
    """All that one run's stream has told so far; `take` gives the signs of one event."""

    model_calls: dict[str, Usage] = field(default_factory=dict)
    tools: dict[str, tuple[str, Mapping[str, Any]]] = field(default_factory=dict)
    result: Event | None = None
    denial: Denial | None = None
    hook_failed: str = ""
    provider_error: str = ""
    resets_in: float | None = None
    waits_long: bool = False
    awaits_model: bool = False
    """It has asked the model, and the answer has not come to its end."""
    version: str = ""
    text: str = ""

    def take(self, event: Event) -> list[Observation]:
        match event.get("type"):
            case "stream_event":
                return self._piece(_table(event.get("event")))
            case "assistant":
                return self._said(event)
            case "user":
                return self._results(event)
            case "system":
                return self._system(event)
            case "result":
                self.result = event
                return [(Sign.OUTPUT, {})]
        return []

    @property
    def end(self) -> EndedBy:
        """Why the run must not go on, whatever the overseer thinks."""
        if self.hook_failed:
            return EndedBy.HOOK
        return EndedBy.API_ERRORS if self.waits_long else EndedBy.ITSELF

    @property
    def usage(self) -> Usage:
        """The result's totals, which hold also what no message told; without a result what the messages told."""
        counted = sum(self.model_calls.values(), Usage())
        total = _totals(self.result or {})
        return total.model_copy(update={"turns": counted.turns}) if total.tokens else counted

    @property
    def unavailable(self) -> str:
        """Why the provider could not be used; "" when the run ended otherwise, or an error is nobody's to wait for."""
        if self.waits_long:
            return self.provider_error
        result = self.result or {}
        if result.get("terminal_reason") != "api_error":
            return ""
        status = result.get("api_error_status")
        if isinstance(status, int) and not (transient_status(status) or status >= 500 or status == 408):
            return ""
        return _short(result.get("result")) or self.provider_error

    @property
    def out_of_turns(self) -> bool:
        return (self.result or {}).get("subtype") == "error_max_turns"

    @property
    def failed(self) -> bool:
        """No result, or one that says itself that it is none."""
        return self.result is None or self.result.get("is_error") is not False

    @property
    def claims(self) -> dict[str, object]:
        names = ("subtype", "terminal_reason", "num_turns", "api_error_status")
        return {name: self.result.get(name) for name in names} if self.result else {}

    @property
    def summary(self) -> str:
        said = (self.result or {}).get("result")
        return said if isinstance(said, str) else self.text

    # ── events ────────────────────────────────────────────────────────────────────────────────────────

    def _piece(self, piece: Event) -> list[Observation]:
        """A part of a message that is still being said: life, and its tokens when they are final."""
        signs: list[Observation] = [(Sign.OUTPUT, {})]
        if piece.get("type") == "message_start":
            message = _table(piece.get("message"))
            signs += self._count(str(message.get("id", "")), _table(message.get("usage")))
        elif piece.get("type") == "message_delta" and self.model_calls:
            self._count(next(reversed(self.model_calls)), _table(piece.get("usage")))
        elif piece.get("type") == "message_stop":
            self.provider_error, self.resets_in, self.awaits_model = "", None, False
        return signs

    def _said(self, event: Event) -> list[Observation]:
        message = _table(event.get("message"))
        if message.get("model") == SYNTHETIC:
            self.provider_error = _short(_text(message.get("content"))) or self.provider_error
            return [(Sign.OUTPUT, {})]
        signs = self._count(str(message.get("id", "")), _table(message.get("usage")))
        for block in _blocks(message):
            if block.get("type") == "tool_use":
                self.tools[str(block.get("id"))] = (str(block.get("name")), _table(block.get("input")))
            elif block.get("type") == "text" and event.get("parent_tool_use_id") is None:
                self.text = str(block.get("text", ""))
        return [*signs, (Sign.OUTPUT, {})]

    def _count(self, message_id: str, usage: Event) -> list[Observation]:
        """Later counts of one message are its totals."""
        if not message_id:
            return []
        was = self.model_calls.get(message_id)
        before = was or Usage()
        self.model_calls[message_id] = Usage(
            input_tokens=max(before.input_tokens, _number(usage, "input_tokens", "cache_creation_input_tokens")),
            output_tokens=max(before.output_tokens, _number(usage, "output_tokens")),
            cached_tokens=max(before.cached_tokens, _number(usage, "cache_read_input_tokens")),
            turns=1,
        )
        return [] if was else [(Sign.TURN, {})]

    def _results(self, event: Event) -> list[Observation]:
        metas = event.get("tool_result_meta")
        found = [each for each in metas if isinstance(each, dict)] if isinstance(metas, list) else []
        known = {str(each.get("id")): each for each in found}
        signs: list[Observation] = []
        for block in _blocks(_table(event.get("message"))):
            if block.get("type") == "tool_result":
                called = str(block.get("tool_use_id"))
                signs += self._tool_result(called, block, _table(known.get(called, {}).get("permission_decision")))
        self.awaits_model = True
        return signs

    def _tool_result(self, called: str, block: Event, decision: Event) -> list[Observation]:
        tool, given = self.tools.pop(called, ("", {}))
        text = _text(block.get("content"))
        if HOOK_SILENT in text and not decision:
            return self._hook_failed(text)
        if decision.get("decision") == "reject" and decision.get("source") == "hook":
            return [(Sign.OUTPUT, {})]
        if _denied(tool, block, text, decision):
            self.denial = Denial(tool=tool, error=_short(text), tried=_tried(given))
            return [(Sign.DENIED, {"denial": self.denial})]
        signs: list[Observation] = [(Sign.ACCEPTED, {"tool": tool})]
        if tool in WRITING and not block.get("is_error"):
            signs.append((Sign.WRITE, {"tool": tool, "path": _tried(given)}))
        return signs

    def _hook_failed(self, reason: str) -> list[Observation]:
        self.hook_failed = self.hook_failed or _short(reason)
        return [(Sign.HOOK_FAILED, {"reason": _short(reason)})]

    def _system(self, event: Event) -> list[Observation]:
        match event.get("subtype"):
            case "init":
                self.version = str(event.get("claude_code_version", ""))
                self.awaits_model = True
            case "api_retry":
                self._retries(event)
            case "informational" if event.get("tag") in NO_VERDICT:
                return self._hook_failed(str(event.get("content", "a hook gave no verdict")))
        return []

    def _retries(self, event: Event) -> None:
        """It waits by itself for a while."""
        status, delay = event.get("error_status"), event.get("retry_delay_ms")
        seconds = delay / 1000 if isinstance(delay, int | float) else 0.0
        self.provider_error = f"API error {status or 'without an answer'}: {event.get('error', '')}".strip(": ")
        self.resets_in = seconds if status == 429 else None
        self.waits_long = seconds > LONGEST_WAIT


def _denied(tool: str, block: Event, text: str, decision: Event) -> bool:
    """By its permission system, by a tool that we withheld, or by the sandbox, told by the kernel's own word."""
    if decision.get("decision") == "reject":
        return True
    if not block.get("is_error") or tool == SHELL:
        return False
    return NO_SUCH_TOOL in text or (tool in WRITING and SANDBOXED.search(text) is not None)


def _tried(given: Mapping[str, Any]) -> str:
    for name in ("file_path", "notebook_path", "command", "url", "pattern", "description"):
        if isinstance(given.get(name), str):
            return str(given[name])[:MOST_WORDS]
    return ""


def _totals(result: Event) -> Usage:
    """Over all models, so that sub-agents and side calls are in it."""
    total = Usage()
    for each in _table(result.get("modelUsage")).values():
        total += Usage(
            input_tokens=_number(_table(each), "inputTokens", "cacheCreationInputTokens"),
            output_tokens=_number(_table(each), "outputTokens"),
            cached_tokens=_number(_table(each), "cacheReadInputTokens"),
        )
    return total


def _number(table: Event, *names: str) -> int:
    return sum(value for name in names if isinstance(value := table.get(name), int))


def _table(value: object) -> Event:
    return value if isinstance(value, dict) else {}


def _blocks(message: Event) -> list[Event]:
    content = message.get("content")
    return [each for each in content if isinstance(each, dict)] if isinstance(content, list) else []


def _text(content: object) -> str:
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return "\n".join(str(each.get("text", "")) for each in parts if isinstance(each, dict))


def _short(text: object) -> str:
    return str(text or "").strip()[:MOST_WORDS]
