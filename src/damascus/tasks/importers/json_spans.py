"""Where a value stands in JSON, so that its bytes alone can be changed. What can't be read has no places."""

import json
import re
from dataclasses import dataclass
from typing import Any

from damascus.domain.strict_json import Unreadable, read_json

BLANK = re.compile(r"[ \t\n\r]*")
DECODER = json.JSONDecoder()


@dataclass(frozen=True)
class JsonSpan:
    """A value, and its first byte and the one behind it."""

    value: Any
    start: int
    end: int


def value_at(raw: bytes) -> JsonSpan | None:
    """The whole of it; None where it is no JSON that has one meaning."""
    try:
        told = read_json(raw.decode("utf-8-sig"))
    except (Unreadable, UnicodeDecodeError):
        return None
    return JsonSpan(told, 3 if raw.startswith(b"\xef\xbb\xbf") else 0, len(raw))


def member(raw: bytes, inside: JsonSpan | None, key: str | int) -> JsonSpan | None:
    """Of an object by its name, of a list by its place."""
    if inside is None or not isinstance(inside.value, list if isinstance(key, int) else dict):
        return None
    text = raw[inside.start : inside.end].decode("utf-8")
    at, place = _after(text, BLANK.match(text).end() + 1), 0  # type: ignore[union-attr]  # it matches nothing, too
    while at < len(text) and text[at] not in "}]":
        name: str | int = place
        if not isinstance(key, int):
            name, at = DECODER.raw_decode(text, at)
            at = _after(text, _after(text, at) + 1)
        value, end = DECODER.raw_decode(text, at)
        if name == key:
            first = inside.start + len(text[:at].encode())
            return JsonSpan(value, first, first + len(text[at:end].encode()))
        at, place = _after(text, end), place + 1
        at = _after(text, at + 1) if at < len(text) and text[at] == "," else at
    return None


def _after(text: str, at: int) -> int:
    found = BLANK.match(text, at)
    return found.end() if found else at
