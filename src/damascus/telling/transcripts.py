"""A transcript with its results first: how it ended, what was run and what came of it. The rest is for a fold."""

from collections.abc import Iterable
from dataclasses import dataclass

from damascus.telling.phrases import one_line, plain

CALL, RESULT, FAILED, END = "→ ", "← ", "✗ ", "= "
MOST_CALLS = 200
KEY_LINE = 160


@dataclass(frozen=True)
class ToolCall:
    """What an agent ran, and what came back; `failed` None: nothing came back."""

    what: str
    result: str = ""
    failed: bool | None = None


@dataclass(frozen=True)
class Digest:
    """`ended` is the last word there is; `lines` are the whole, for the fold."""

    ended: str
    calls: tuple[ToolCall, ...]
    failures: int
    lines: tuple[str, ...]
    more_calls: int = 0


def digest(lines: Iterable[str]) -> Digest:
    """Of agents whose calls are told line by line; of others the last line alone is known to matter."""
    told = tuple(plain(line).rstrip() for line in lines)
    calls: list[ToolCall] = []
    ended = ""
    for line in told:
        if line.startswith(CALL):
            calls.append(ToolCall(_key(line)))
        elif line.startswith((RESULT, FAILED)) and calls and calls[-1].failed is None:
            calls[-1] = ToolCall(calls[-1].what, _key(line), line.startswith(FAILED))
        elif line.startswith(END):
            ended = _key(line)
    ended = ended or next((one_line(line)[:KEY_LINE] for line in reversed(told) if line.strip()), "")
    failures = sum(call.failed is True for call in calls)
    return Digest(ended, tuple(calls[-MOST_CALLS:]), failures, told, max(len(calls) - MOST_CALLS, 0))


def _key(line: str) -> str:
    return one_line(line[2:])[:KEY_LINE]
