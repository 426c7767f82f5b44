"""From an imported record to a spec: whole where the source has scope, requirements and a way to test, else rough.

Somebody else's words stand in quotes (`> `), so that no heading, fence or requirement of theirs is one of the spec's.
"""

import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass

from damascus.domain.ids import STORY_MAX, STORY_PATTERN, StoryId
from damascus.domain.spec import TAG, Spec, section
from damascus.tasks.importers.paths import tests_of
from damascus.tasks.importers.record import Box, Imported, line, prose

NO_PART = re.compile(r"[^A-Za-z0-9_-]+")
BOXES = "Boxes"
QUESTIONS = "Open Questions"
MARKED = re.compile(r"<!-- import ([0-9a-f]{16}) -->")
BOX = re.compile(r"- \[([^\]\[\n]{0,200})\] (\S.*)")
HASH = 8
SOURCE = re.compile(r"(?P<format>[a-z-]{1,20}) (?P<file>.{1,4000})#(?P<key>[^#]{0,300})")


@dataclass(frozen=True)
class ImportSource:
    """Where a story was imported from, as its spec says it."""

    format: str
    file: str
    key: str

    @classmethod
    def of(cls, spec: Spec) -> "ImportSource | None":
        found = SOURCE.fullmatch(spec.source)
        return cls(found["format"], found["file"], found["key"]) if found else None

    def __str__(self) -> str:
        return " ".join(f"{self.format} {self.file}#{line(self.key, 200).replace('#', '%23')}".split())


def source_of(kind: str, one: Imported) -> str:
    return str(ImportSource(kind, one.file, one.key))


# ── ids ───────────────────────────────────────────────────────────────────────────────────────────────


def story_names(kind: str, one: Imported) -> tuple[StoryId, StoryId]:
    """What it is called, and what if that is taken. Both follow from the source alone: an id that lost something on the
    way (a path, another alphabet, its length) has a sum of the whole behind it."""
    parts = [NO_PART.sub("-", part).strip("-_") for part in one.name.split(".")]
    plain = ".".join(part for part in parts if part)
    plain = plain if plain[:1].isalnum() and plain.isascii() else f"i{plain and '-' + plain}"
    mark = hashlib.sha256(source_of(kind, one).lower().encode()).hexdigest()[:HASH]
    marked = StoryId(f"{plain[: STORY_MAX - HASH - 1].rstrip('.-_')}-{mark}")
    whole = plain == one.name and len(plain) <= STORY_MAX and not plain.lower().endswith(".lock")
    return (StoryId(plain) if whole and STORY_PATTERN.fullmatch(plain) else marked), marked


# ── what is there, and what lacks ─────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Drafted:
    """A record with what the repository adds: its id, checked paths, a command that runs its tests."""

    one: Imported
    kind: str
    story: StoryId
    depends_on: tuple[StoryId, ...]
    scope: tuple[str, ...]
    command: str
    refused: tuple[str, ...] = ()
    """Paths of the source that no story may write."""
    patterns: tuple[str, ...] = ()

    @property
    def tests(self) -> list[str]:
        return tests_of(self.scope, self.patterns)

    @property
    def understood(self) -> list[str]:
        told = [
            (len(self.one.criteria), "requirement"), (len(self.scope), "path"), (len(self.depends_on), "dependency"),
            (len(self.one.boxes), "box"),
        ]  # fmt: skip
        return [f"{count} {name if count == 1 else PLURALS.get(name, name + 's')}" for count, name in told if count]

    @property
    def lacks(self) -> list[str]:
        if self.one.spec is not None:
            return []
        wants = [
            ("scope", bool(self.scope)),
            ("a test file in the scope", bool(self.tests) or not self.scope),
            ("requirements", bool(self.one.criteria)),
            ("Test Command", bool(self.command)),
        ]
        count = len(self.one.questions)
        asked = [f"your answer to {count} question{'s' if count > 1 else ''}"] if count else []
        outside = [f"a path instead of {path}" for path in self.refused]
        return [*(name for name, there in wants if not there), *outside, *self.one.lacks, *asked]


PLURALS = {"dependency": "dependencies", "box": "boxes"}


# ── the text ──────────────────────────────────────────────────────────────────────────────────────────


def spec_text(draft: Drafted) -> bytes:
    """Strict parsing takes it unless something lacks; then it has no plan, and the refiner completes it."""
    one = draft.one
    if one.spec is not None:
        return one.spec
    front = {
        "story": _quoted(draft.story),
        "title": _quoted(one.title),
        "scope": _listed(draft.scope),
        "depends_on": _listed(draft.depends_on),
        "priority": str(one.priority) if one.priority != 2 else "",
        "source": _quoted(source_of(draft.kind, one)),
    }
    head = "".join(f"{key}: {value}\n" for key, value in front.items() if value)
    parts = [f"---\n{head}---\n", quoted(one.body or one.title), *_sections(draft)]
    return ("\n\n".join(part.strip("\n") for part in parts if part) + "\n").encode()


def _sections(draft: Drafted) -> list[str]:
    one, whole = draft.one, not draft.lacks
    needs = [f"- REQ-{n:03d}: {_untagged(text)}" for n, text in enumerate(one.criteria, 1)]
    plan = f"One test per requirement in {', '.join(draft.tests)}, red before the code exists."
    hint = f"\n\n{quoted(one.plan)}" if one.plan else ""
    told = [
        ("Requirements", "\n".join(needs)),
        (QUESTIONS, "\n".join(f"- {line(each)}" for each in one.questions)),
        ("How the source wants it tested", quoted(one.plan) if not whole and one.plan else ""),
        ("TDD Plan", plan + hint if whole else ""),
        ("Test Command", f"```sh\n{draft.command}\n```" if whole else ""),
        (BOXES, "\n".join([*(f"- [{box.id}] {box.text}" for box in one.boxes), f"<!-- import {one.mark} -->"])),
    ]
    return [f"## {heading}\n\n{text}" for heading, text in told if text]


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _listed(values: Sequence[str]) -> str:
    return json.dumps(list(values), ensure_ascii=False) if values else ""


def _untagged(text: str) -> str:
    """`(SKIP)` in somebody's sentence must not make a requirement one that nobody proves."""
    return TAG.sub(lambda found: f"[{found[1]}]", line(text))


def quoted(text: str) -> str:
    return "\n".join(f"> {each}".rstrip() for each in prose(text).split("\n"))


# ── what a frozen spec says of its source ─────────────────────────────────────────────────────────────


def boxes_of(spec: Spec) -> tuple[Box, ...]:
    found = (BOX.fullmatch(each) for each in section(spec.body, BOXES).split("\n"))
    return tuple(Box(told[1], told[2]) for told in found if told)


def mark_of(spec: Spec) -> str:
    """What the source said when this was imported, as a sum; "" where the spec does not tell."""
    found = MARKED.search(section(spec.body, BOXES))
    return found[1] if found else ""


def questions_in(spec: Spec) -> list[str]:
    """What the source left open and only a person can say."""
    lines = section(spec.body, QUESTIONS).split("\n") if spec.source else []
    return [each.removeprefix("- ") for each in lines if each.startswith("- ")]
