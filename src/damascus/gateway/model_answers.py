"""What a model API's own answers tell of tokens, errors and rate limits: Anthropic messages, OpenAI chat and responses.

Read on the way through the bridge, so that also an agent without a readable stream has counters. What can't be read
counts as nothing: the bytes pass in any case.
"""

import json
import math
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

from damascus.domain.ports import Usage

LONGEST_LINE = 2_000_000
LONGEST_BODY = 8_000_000
LONGEST_ERROR = 300
LONGEST_RESET = 7 * 24 * 3600.0
EPOCH = 1_000_000_000
"""Numbers from here on are moments, in seconds of 1970; smaller ones are spans."""
RATE_LIMIT = re.compile(r"(anthropic|x)-ratelimit-(.+-)?reset(-.+)?")
TOLD = re.compile(rb"\[resets: ([\w:.+ ,;=-]+)\]", re.ASCII)
SPAN = re.compile(r"(\d+(?:\.\d+)?)(ms|h|m|s)")
SECONDS = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 0.001}
STATUS_OF = {"rate_limit_error": 429, "overloaded_error": 529, "authentication_error": 401, "permission_error": 403}


class AnswerReader:
    """Hears one answer as it passes, in whatever pieces: an event stream, a JSON body; of anything else it keeps none.

    `error` is what an answer that began well told later.
    """

    def __init__(self, content_type: str) -> None:
        self._stream = "event-stream" in content_type
        self._body = "json" in content_type
        self._kept = bytearray()
        self._skipping = False
        self._counts: dict[str, int] = {}
        self._told = Usage()
        self.error: tuple[int, str] | None = None

    def heard(self, piece: bytes, *, last: bool = False) -> Usage:
        """What this piece adds to the usage. After the `last` one the answer is whole."""
        if self._stream:
            self._split(piece + b"\n" if last else piece)
        elif self._body and len(self._kept) + len(piece) <= LONGEST_BODY:
            self._kept += piece
        if last and self._body:
            self._take(_parsed(self._kept))
            self._kept.clear()
        now = self._usage()
        news = {name: getattr(now, name) - getattr(self._told, name) for name in Usage.model_fields}
        self._told = now
        return Usage(**news)

    def _split(self, piece: bytes) -> None:
        *lines, rest = (self._kept + piece).split(b"\n")
        for line in lines:
            if not self._skipping:
                self._line(bytes(line))
            self._skipping = False
        self._skipping = self._skipping or len(rest) > LONGEST_LINE
        self._kept = bytearray() if self._skipping else rest

    def _usage(self) -> Usage:
        known = self._counts
        if not known:
            return Usage()
        cached = known.get("cached", 0)
        return Usage(
            input_tokens=max(known.get("input", 0) - (cached if known.get("cached_inside") else 0), 0),
            output_tokens=known.get("output", 0),
            cached_tokens=cached,
            turns=1,
        )

    def _line(self, line: bytes) -> None:
        if line.startswith(b"data:") and (b'"usage"' in line or b'"error"' in line):
            self._take(_parsed(line[len(b"data:") :]))

    def _take(self, said: Mapping[str, Any]) -> None:
        for part in (said, _table(said.get("message")), _table(said.get("response"))):
            self._count(_table(part.get("usage")))
            if error := _table(part.get("error")):
                self.error = (STATUS_OF.get(str(error.get("type")), 500), error_text(error))

    def _count(self, usage: Mapping[str, Any]) -> None:
        """Later counts of one answer are its totals, never additions."""
        details = _table(usage.get("prompt_tokens_details")) or _table(usage.get("input_tokens_details"))
        if "prompt_tokens" in usage or "input_tokens_details" in usage:  # OpenAI's input has the cached part in it
            self._raise("cached_inside", 1)
        given = _number(usage, "input_tokens", "prompt_tokens")
        self._raise("input", given + _number(usage, "cache_creation_input_tokens"))
        self._raise("output", _number(usage, "output_tokens", "completion_tokens"))
        self._raise("cached", _number(usage, "cache_read_input_tokens") or _number(details, "cached_tokens"))

    def _raise(self, name: str, value: int) -> None:
        if value > 0:
            self._counts[name] = max(self._counts.get(name, 0), value)


def _parsed(text: bytes | bytearray) -> Mapping[str, Any]:
    try:
        return _table(json.loads(text))
    except (ValueError, RecursionError):
        return {}


def _table(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _number(table: Mapping[str, Any], *names: str) -> int:
    return next((table[name] for name in names if type(table.get(name)) is int), 0)


def error_of(body: bytes) -> str:
    """The message of an error's body, in one line."""
    said = _parsed(body)
    return error_text(said.get("error", said) or body.decode("utf-8", errors="replace"))


def error_text(error: object) -> str:
    text = error
    if isinstance(error, Mapping):
        text = error.get("message") or error.get("detail") or error.get("type") or ""
    return " ".join(str(text).split())[:LONGEST_ERROR]


# ── rate limits ───────────────────────────────────────────────────────────────────────────────────────


def resets_in(headers: Mapping[str, str], now: datetime) -> float | None:
    """Seconds until the provider takes requests again, where it says so.

    LiteLLM hands the provider's headers on as `llm_provider-…`. Moments count from the answer's own Date: the clocks
    need not agree.
    """
    told = {name.lower().removeprefix("llm_provider-"): value.strip() for name, value in headers.items()}
    since = _moment(told.get("date", "")) or now
    for value in (told.get("retry-after-ms", "") + "ms", told.get("retry-after", "")):
        if (seconds := _seconds(value, since)) is not None:
            return seconds
    return _longest_limit(told, since)


def resets_told_in(body: bytes) -> dict[str, str]:
    """The provider's headers as litellm_callback.py tells them, where LiteLLM itself drops them."""
    found = TOLD.search(body)
    pairs = [each.partition("=") for each in found.group(1).decode().split("; ")] if found else []
    return {name.strip(): value.strip() for name, _, value in pairs}


def _longest_limit(told: Mapping[str, str], since: datetime) -> float | None:
    """Of the limits that are used up the last to end; of all, where none is said to be."""
    found: list[tuple[bool, float]] = []
    for name, value in told.items():
        seconds = _seconds(value, since) if RATE_LIMIT.fullmatch(name) else None
        if seconds is not None:
            found.append((told.get(name.replace("reset", "remaining"), "").partition(".")[0] == "0", seconds))
    used_up = [seconds for empty, seconds in found if empty]
    return max(used_up or [seconds for _, seconds in found], default=None)


def _seconds(value: str, since: datetime) -> float | None:
    """`30`, `1.5`, `6m0s`, `120ms`, seconds of 1970, an RFC 3339 or an HTTP date; None for anything else."""
    found: float | None = None
    if re.fullmatch(r"\d{1,15}(\.\d{1,9})?", value):
        found = float(value)
        found = found - since.timestamp() if found >= EPOCH else found
    elif SPAN.match(value) and not SPAN.sub("", value):
        found = sum(float(number) * SECONDS[unit] for number, unit in SPAN.findall(value))
    elif moment := _moment(value):
        found = (moment - since).total_seconds()
    if found is None or not math.isfinite(found) or found > LONGEST_RESET:
        return None
    return max(found, 0.0)


def _moment(value: str) -> datetime | None:
    for read in (datetime.fromisoformat, parsedate_to_datetime):
        try:
            found = read(value)
        except (ValueError, TypeError, IndexError):
            continue
        return found if found.tzinfo else found.replace(tzinfo=UTC)
    return None
