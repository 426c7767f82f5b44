"""A new entry of the pattern library and its line of the index, as text; all other bytes stay as they are."""

from codecs import BOM_UTF8
from dataclasses import dataclass

from damascus.domain.file_text import decode
from damascus.domain.inert_markdown import prose
from damascus.tasks.patterns import Library, words

HEAD = "# Patterns\n\n| Keywords | Pattern |\n|---|---|\n"
MOST = 2_000
KEYWORDS = 6


@dataclass(frozen=True)
class NewPattern:
    """What a decision says, as an entry."""

    id: str
    title: str
    domain: str
    stack: str
    context: str
    pattern: str
    pitfall: str
    decision: str
    evidence: str

    @property
    def keywords(self) -> list[str]:
        told = [*self.domain.split(", "), *sorted(words(self.title), key=self.title.lower().find)]
        return [word for word in dict.fromkeys(told) if word][:KEYWORDS]


def next_id(library: Library) -> str:
    numbers = [
        int(tail) for one in library.patterns if (tail := one.id.partition("-")[2]).isdecimal() and len(tail) < 9
    ]
    return f"PATTERN-{max(numbers, default=0) + 1:03d}"


def with_row(raw: bytes, new: NewPattern, name: str) -> bytes:
    """Below the last line of the index's first table."""
    text = decode(raw, name) or HEAD
    line = f"| {', '.join(prose(word, 60) for word in new.keywords)} | {new.id}: {prose(new.title, 200)} |"
    lines = text.rstrip("\n").split("\n")
    first = next((n for n, each in enumerate(lines) if each.lstrip().startswith("|")), None)
    if first is None:
        return _as_before(f"{text.rstrip()}\n\n{HEAD.partition(chr(10) * 2)[2]}{line}\n", raw)
    end = next((n for n in range(first, len(lines)) if not lines[n].lstrip().startswith("|")), len(lines))
    return _as_before("\n".join([*lines[:end], line, *lines[end:]]) + "\n", raw)


def with_entry(raw: bytes, new: NewPattern, name: str) -> bytes:
    before = decode(raw, name).rstrip("\n")
    fields = [
        ("domain", new.domain), ("stack", new.stack), ("context", new.context), ("pattern", new.pattern),
        ("pitfall_avoided", new.pitfall), ("reuse_signal", ", ".join(new.keywords)), ("evidence", new.evidence),
    ]  # fmt: skip
    told = "\n".join(f"- {key}: {prose(value, MOST)}" for key, value in fields)
    entry = f"## {new.id}: {prose(new.title, 200)}\n\n{told}\n"
    return _as_before(f"{before}\n\n{entry}" if before else entry, raw)


def _as_before(text: str, raw: bytes) -> bytes:
    """With the ends of lines, and the mark at its beginning, that the file had."""
    content = text.encode().replace(b"\n", b"\r\n") if b"\r\n" in raw else text.encode()
    return BOM_UTF8 + content if raw.startswith(BOM_UTF8) else content
