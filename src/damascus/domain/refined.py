"""What a refiner may do to a rough spec: fill what is missing, change nothing that a person wrote (D19).

Both texts are read by the parser that reads them later, so a trick that it falls for shows here as well: a second
section of the same name, a fence that hides a heading, a key that an anchor brings.
"""

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import fields
from typing import Any

from damascus.domain.errors import UsageError
from damascus.domain.file_text import decode
from damascus.domain.front_matter import split
from damascus.domain.spec import HEADING_TWICE, Spec, read_spec, section, without_fenced_headings

FILLS = ("scope", "complexity", "domain")
"""The keys that a refiner may set where a person did not. Every other key is a person's alone: kind, may_remove,
may_change, may_break, acceptance, priority, depends_on, and whatever is added later."""
GROWS = "requirements"
HEADING = re.compile(r"^(##?)[ \t]+(\S.*?)[ \t]*$", re.MULTILINE)
BULLET = re.compile(r"\s*(?:[-*+]|\d+[.)])\s")
SEEN = ("\n", "\t")


def changed_by_refiner(rough: bytes, refined: bytes) -> list[str]:
    """What it tried to change, in words for people; empty for a spec that only fills what was missing."""
    before, after = _Read(rough), _Read(refined)
    return [*_keys(before, after), *_sections(before, after), *_parsed(before, after), *_unseen(before, after)]


def marked(rough: bytes, refined: bytes) -> str:
    """The whole refined spec, what the refiner added marked by `+`."""
    places: dict[str, list[int]] = {}
    for place, line in enumerate(decode(rough, "the spec").split("\n")):
        places.setdefault(line, []).append(place)
    lines, last = [], -1
    for line in decode(refined, "the spec").rstrip("\n").split("\n"):
        known = places.get(line, [])
        following = bisect_right(known, last)
        kept = not line.strip() or following < len(known)
        last = known[following] if line.strip() and kept else last
        lines.append(f"{' ' if kept else '+'} {line}".rstrip())
    return "\n".join(lines)


class _Read:
    def __init__(self, raw: bytes) -> None:
        self.text = decode(raw, "the spec")
        self.front, self.body = split(self.text, "the spec")
        spec, problems = read_spec(raw, "the spec", rough=True)
        worse = [text for text in problems if not HEADING_TWICE.search(text)]  # told by _sections, of every heading
        if spec is None or worse:
            raise UsageError((worse or problems)[0])
        self.spec: Spec = spec
        self.headings = [(m[1], " ".join(m[2].split())) for m in HEADING.finditer(without_fenced_headings(self.body))]

    @property
    def preamble(self) -> str:
        hidden = without_fenced_headings(self.body)
        first = HEADING.search(hidden)
        return (hidden[: first.start()] if first else hidden).replace("\x01", "#").strip()

    def below(self, level: str, heading: str) -> str:
        return section(self.body, heading, level)


def _keys(before: _Read, after: _Read) -> Iterator[str]:
    for key, value in before.front.items():
        if _said(value) and _said(after.front.get(key)) != _said(value):
            now = after.front.get(key)
            yield f"{key}: {_shown(value)} became {_shown(now) if _said(now) else 'nothing'}"
    for key, value in after.front.items():
        if _said(value) and not _said(before.front.get(key)) and key not in FILLS:
            yield f"{key}: {_shown(value)} was set, which only a person does"


def _said(value: Any) -> list[str]:
    """A value as a person means it: one text or a list of one is the same, nothing is nothing."""
    values = value if isinstance(value, list) else [value]
    return [" ".join(str(each).split()) for each in values if each is not None and str(each).strip()]


def _shown(value: Any) -> str:
    return ", ".join(_said(value))[:200] or "nothing"


def _sections(before: _Read, after: _Read) -> Iterator[str]:
    if not _keeps(_blocks(before.preamble), _blocks(after.preamble)):
        yield "the text before the first heading is not as it was"
    names = [(level, heading.casefold()) for level, heading in after.headings]
    for level, heading in dict.fromkeys(before.headings):
        was, now = before.below(level, heading), after.below(level, heading)
        if not was:
            continue
        if heading.casefold() == GROWS and level == "##":
            if not _keeps(_blocks(was), _blocks(now)):
                yield f'"{level} {heading}": a requirement is not as it was'
        elif was != now:
            yield f'"{level} {heading}" is not as it was'
    for level, heading in dict.fromkeys(names):
        if names.count((level, heading)) > 1:
            yield f'"{level} {heading}" is there twice'


def _blocks(text: str) -> list[str]:
    """Paragraphs and list entries, each with the lines that belong to it."""
    blocks: list[list[str]] = []
    fresh = True
    for line in text.split("\n"):
        if not line.strip():
            fresh = True
            continue
        if fresh or BULLET.match(line):
            blocks.append([])
        blocks[-1].append(line.rstrip())
        fresh = False
    return ["\n".join(block) for block in blocks]


def _keeps(old: list[str], new: list[str]) -> bool:
    """Is every old block still there, in its order?"""
    rest = iter(new)
    return all(any(block == other for other in rest) for block in old)


def _parsed(before: _Read, after: _Read) -> Iterator[str]:
    """Last, by what the parser makes of both: whatever is a person's is what it was."""
    free = {"body", "scope", "tdd_plan", "test_command", "requirements", *FILLS}
    for field in fields(Spec):
        if field.name not in free and getattr(before.spec, field.name) != getattr(after.spec, field.name):
            yield f"{field.name} is not what it was"
    if not set(before.spec.requirements) <= set(after.spec.requirements):
        gone = [need.id for need in before.spec.requirements if need not in after.spec.requirements]
        yield f"{', '.join(gone)} is gone or not as it was"
    if before.spec.test_command not in ("", after.spec.test_command):
        yield "the Test Command is not what it was"


def _unseen(before: _Read, after: _Read) -> Iterator[str]:
    """What a person can't see can't be approved."""
    new = {char for char in after.text if not char.isascii() or not char.isprintable()} - {*before.text, *SEEN}
    odd = sorted(char for char in new if unicodedata.category(char) in ("Cc", "Cf", "Zl", "Zp", "Co", "Cn", "Cs"))
    if odd:
        yield f"it holds characters that nobody sees: {', '.join(f'U+{ord(char):04X}' for char in odd[:5])}"
