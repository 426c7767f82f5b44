"""Claude Code's stream as a person reads it: what was asked, said and done, a line each, written as it comes.

Beside it lies the stream itself (`<transcript>.jsonl`), without the pieces of messages that are told whole later.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from damascus.system.masking import masked
from damascus.system.output import CappedLog, Tail, make_way

ONE_LINE = 300
NAMED = ("file_path", "notebook_path", "command", "pattern", "url", "prompt", "description")

Event = Mapping[str, Any]


class Transcript:
    """`values` are not for any eye: they are masked on the way."""

    def __init__(self, readable: CappedLog, raw: CappedLog, values: Iterable[str]) -> None:
        self._readable, self._raw = readable, raw
        self._values = list(values)
        self._quoted = [json.dumps(each)[1:-1] for each in self._values]
        self._tail = Tail()

    def note(self, text: str) -> None:
        """A line of ours."""
        data = masked(text, self._values).encode("utf-8", errors="replace") + b"\n"
        self._readable.write(data)
        self._tail.add(data)

    def event(self, event: Event) -> None:
        if event.get("type") == "stream_event":
            return
        raw = json.dumps(event, ensure_ascii=False)
        self._raw.write(masked(raw, [*self._values, *self._quoted]).encode("utf-8", errors="replace") + b"\n")
        for line in told(event):
            self.note(line)

    @property
    def tail(self) -> str:
        return self._tail.text()

    def finish(self) -> None:
        self._readable.finish()
        self._raw.finish()


@contextmanager
def written_to(path: Path, limit: int, values: Iterable[str]) -> Iterator[Transcript]:
    with ExitStack() as stack:
        logs = []
        for each in (path, raw_log(path)):
            make_way(each)
            logs.append(CappedLog(stack.enter_context(each.open("wb")), limit))
        transcript = Transcript(logs[0], logs[1], values)
        stack.callback(transcript.finish)
        yield transcript


def raw_log(transcript: Path) -> Path:
    """Where the stream itself is kept."""
    return transcript.with_name(transcript.name + ".jsonl")


def told(event: Event) -> Iterator[str]:
    """An event in words; most of them are silent."""
    match event:
        case {"type": "assistant", "message": {"content": list(blocks)}}:
            yield from (_said(block) for block in blocks if isinstance(block, dict))
        case {"type": "user", "message": {"content": list(blocks)}}:
            yield from (_got(block) for block in blocks if isinstance(block, dict))
        case {"type": "system", "subtype": "api_retry"}:
            answered, pause = event.get("error_status") or "nothing", event.get("retry_delay_ms")
            yield f"… the API answered {answered}; again in {pause} ms"
        case {"type": "system", "subtype": "permission_denied"}:
            yield f"✗ {event.get('tool_name')} was denied"
        case {"type": "system", "subtype": "informational", "content": str(content)}:
            yield f"! {content}"
        case {"type": "result"}:
            yield f"= {event.get('terminal_reason')} after {event.get('num_turns')} turns"


def _said(block: Event) -> str:
    if block.get("type") == "text":
        return str(block.get("text", ""))
    if block.get("type") != "tool_use":
        return f"({block.get('type')})"
    given = block.get("input")
    table = given if isinstance(given, dict) else {}
    what = next((str(table[name]) for name in NAMED if name in table), "")
    return f"→ {block.get('name')} {_one_line(what)}".rstrip()


def _got(block: Event) -> str:
    content = block.get("content", block.get("text", ""))
    if isinstance(content, list):
        content = " ".join(str(each.get("text", "")) for each in content if isinstance(each, dict))
    return f"{'✗' if block.get('is_error') else '←'} {_one_line(str(content))}".rstrip()


def _one_line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= ONE_LINE else f"{line[:ONE_LINE]}… ({len(text)} characters)"
