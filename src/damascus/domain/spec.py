"""The spec format: Markdown with front matter (docs/spec.md). Parsed at the door, frozen when queued."""

import hashlib
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache, partial
from typing import Any, TypeVar

from damascus.domain.errors import UsageError
from damascus.domain.file_text import decode
from damascus.domain.front_matter import repeated, split
from damascus.domain.ids import StoryId, story_id
from damascus.domain.scope import Scope, parse_scope
from damascus.domain.tasks import TaskType, TestContract, parse_contracts
from damascus.domain.verdict import Kind
from damascus.domain.visible import visible

KEYS = {"story", "title", "scope", "depends_on", "priority", "kind", "may_remove", "may_change", "acceptance"} | {
    "may_break",
    "complexity",
    "domain",
    "flow",
    "task_type",
    "platform",
    "graph",
    "source",
    "contract_exempt",
}
LISTS = ("depends_on", "may_remove", "may_change", "may_break")
COMPLEXITIES = ("low", "normal", "high")
PROFILES = ("direct", "full")
REQUIREMENT = re.compile(
    r"^[ \t]{0,40}[-*][ \t]{1,20}(REQ-\d{1,9})[ \t]{0,20}(?:\(([A-Z]{1,20})\))?[ \t]{0,20}:([^\n]*)$", re.MULTILINE
)
TAG = re.compile(r"\((MVP|EXT|FUTURE|SKIP)\)")
LARGEST_SPEC = 1_000_000
HEADINGS = ("Requirements", "TDD Plan", "Test Command", "Test Contract", "Gate Commands")
HEADING_TWICE = re.compile(r'"## [^"\n]{1,40}" is there (?:twice|\d{1,9} times)')
UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
UNREAD = "?"
"""Stands for what is there and can't be read: it is told by its own sentence, not as missing too."""
EXAMPLE = "\n       ```sh\n       pytest -q tests/test_import.py\n       ```"


@dataclass(frozen=True)
class Requirement:
    """One promise of the spec, with its tag (MVP unless it says otherwise)."""

    id: str
    text: str
    tag: str = "MVP"


@dataclass(frozen=True)
class Spec:
    """A parsed spec. A rough one may lack scope, plan and command; `missing` says so."""

    story: StoryId
    title: str
    scope: Scope | None
    tdd_plan: str = ""
    test_command: str = ""
    requirements: tuple[Requirement, ...] = ()
    depends_on: tuple[StoryId, ...] = ()
    priority: int = 2
    kind: Kind = Kind.FEATURE
    may_remove: tuple[str, ...] = ()
    may_change: tuple[str, ...] = ()
    may_break: tuple[str, ...] = ()
    acceptance: str | None = None
    complexity: str = "normal"
    domain: str = ""
    flow: str = ""
    """The profile of its build; "": as [flow] profile says."""
    task_type: TaskType | None = None
    platform: str = ""
    graph: str = ""
    """The task graph that it is a task of, relative to the repository."""
    source: str = ""
    """Where it was imported from: `format path#id`."""
    contracts: tuple[TestContract, ...] = ()
    contract_exempt: str = ""
    """Why a task needs no test contract; a person's reason."""
    gate_commands: tuple[str, ...] = ()
    """Its own, beside the project's."""
    body: str = field(default="", repr=False)

    def missing(self) -> list[str]:
        """What a spec needs before it may reach an agent (D3)."""
        wants = [
            ("scope", self.scope),
            ('"## TDD Plan"', self.tdd_plan),
            ('"## Test Command"', self.test_command),
        ]
        return [name for name, value in wants if not value]


def digest(raw: bytes) -> str:
    return hashlib.sha256(raw).hexdigest()


T = TypeVar("T")


@lru_cache(maxsize=64)
def parse_spec(raw: bytes, name: str = "the spec", *, rough: bool = False) -> Spec:
    """Parse a spec file. Strict unless `rough`, which needs only story and title."""
    spec, problems = read_spec(raw, name, rough=rough)
    if spec is None or problems:
        raise UsageError(problems[0])
    return spec


def read_spec(raw: bytes, name: str = "the spec", *, rough: bool = False) -> tuple[Spec | None, list[str]]:
    """The spec and everything that is wrong with it; None where the front matter itself can't be read."""
    found = _Problems(name)
    if len(raw) > LARGEST_SPEC:
        return None, [f"{name} is larger than {LARGEST_SPEC:,} bytes. Split the story (docs/spec.md)."]
    try:
        front, body = split(decode(raw, name), name)
    except UsageError as err:
        return None, [str(err)]
    for key in sorted(set(front) - KEYS):
        found.add(f"{name} has the unknown key {key!r}. Known: {', '.join(sorted(KEYS))} (docs/spec.md).")
    spec = _build(front, body, found)
    if not rough:
        _require_whole(spec, found)
    return spec, found.texts


class _Problems:
    """All that is wrong with a spec, each once, by the name of its file."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.texts: list[str] = []

    def add(self, text: str) -> None:
        whole = text if self.name in text else f"{self.name}: {text}"
        if whole not in self.texts:
            self.texts.append(whole)

    def tried(self, read: Callable[[], T], otherwise: T) -> T:
        try:
            return read()
        except UsageError as err:
            self.add(str(err))
        except ValueError:
            # Python writes no number of thousands of digits.
            self.add("a number in the front matter is too large (docs/spec.md).")
        return otherwise


def _build(front: dict[str, Any], body: str, found: _Problems) -> Spec:
    name, tried = found.name, found.tried
    lists = {key: _tried_texts(front, key, found) for key in LISTS}
    _refuse_headingstwice(body, found)
    return Spec(
        story=tried(lambda: story_id(_text(front, "story", name)), StoryId("")),
        title=tried(lambda: _text(front, "title", name), ""),
        scope=_scope(front, found),
        tdd_plan=section(body, "TDD Plan"),
        test_command=tried(lambda: _command(section(body, "Test Command"), name), UNREAD),
        requirements=tried(lambda: _requirements(section(body, "Requirements"), name), ()),
        depends_on=tuple(known for dep in lists["depends_on"] if (known := tried(_dependency(dep), None))),
        priority=tried(lambda: _priority(front, name), 2),
        kind=Kind(tried(lambda: _one_of(front, "kind", tuple(Kind), name), "feature")),
        may_remove=tuple(lists["may_remove"]),
        may_change=tuple(lists["may_change"]),
        may_break=tuple(lists["may_break"]),
        acceptance=tried(lambda: _text(front, "acceptance", name), None) if "acceptance" in front else None,
        complexity=tried(lambda: _one_of(front, "complexity", COMPLEXITIES, name), "normal"),
        domain=tried(lambda: _text(front, "domain", name).lower(), "") if "domain" in front else "",
        flow=tried(lambda: _one_of(front, "flow", PROFILES, name), "") if "flow" in front else "",
        contracts=tried(lambda: parse_contracts(section(body, "Test Contract"), name), ()),
        gate_commands=tried(lambda: _lines(section(body, "Gate Commands"), name), ()),
        **_of_a_task(front, found),
        body=body,
    )


def _of_a_task(front: dict[str, Any], found: _Problems) -> dict[str, Any]:
    """What a task graph or an import adds to a spec; a plain story has none of it."""
    texts: dict[str, Any] = {
        key: found.tried(partial(_text, front, key, found.name), "")
        for key in ("platform", "graph", "source", "contract_exempt")
        if key in front
    }
    if "task_type" in front:
        told = found.tried(lambda: _one_of(front, "task_type", tuple(TaskType), found.name), "")
        texts["task_type"] = TaskType(told) if told else None
    return texts


def _tried_texts(front: dict[str, Any], key: str, found: _Problems) -> list[str]:
    none: list[str] = []
    return found.tried(lambda: _texts(front, key, found.name), none)


def _dependency(text: str) -> Callable[[], StoryId | None]:
    return lambda: story_id(text)


def _scope(front: dict[str, Any], found: _Problems) -> Scope | None:
    """Each pattern by itself, so that every bad one is told."""
    if "scope" not in front:
        return None
    unread = len(found.texts)
    patterns = _tried_texts(front, "scope", found)
    if len(found.texts) == unread:
        for pattern in patterns:
            found.tried(_one_scope(pattern), None)
    if len(found.texts) != unread:
        return Scope((UNREAD,))
    return found.tried(lambda: parse_scope(patterns), Scope((UNREAD,)))


def _one_scope(pattern: str) -> Callable[[], Scope | None]:
    return lambda: parse_scope([pattern])


def _priority(front: dict[str, Any], name: str) -> int:
    priority = front.get("priority", 2)
    if not isinstance(priority, int) or isinstance(priority, bool) or not 0 <= priority <= 3:
        raise UsageError(f"{name}: priority is {priority!r}; use 0 (first) to 3.")
    return priority


def _one_of(front: dict[str, Any], key: str, known: tuple[str, ...], name: str) -> str:
    value = str(front.get(key, "normal" if key == "complexity" else "feature"))
    if value not in list(known):
        told = f"{', '.join(known[:-1])} or {known[-1]}"
        raise UsageError(f"{name}: {key} is {value!r}; use {told}.")
    return value


def _refuse_headingstwice(body: str, found: _Problems) -> None:
    """Of two sections of one name only the first would be read, silently."""
    hidden = without_fenced_headings(body)
    for heading in HEADINGS:
        count = len(re.findall(_heading(heading), hidden, re.MULTILINE | re.IGNORECASE))
        if count > 1:
            found.add(f'"## {heading}" is there {_times(count)}. Keep one of them (docs/spec.md).')


def _times(count: int) -> str:
    return "twice" if count == 2 else f"{count} times"


def _require_whole(spec: Spec, found: _Problems) -> None:
    for what in spec.missing():
        if what == "scope":
            found.add(
                f"{found.name} has no scope. List the files or folders that the story may write. "
                "Nothing was queued. (docs/spec.md)"
            )
            continue
        example = f" with one fenced block, for example:{EXAMPLE}\n      " if "Test" in what else "."
        found.add(f"{found.name} has no {what}. Add that heading{example} Nothing was queued. (docs/spec.md)")


def _text(front: dict[str, Any], key: str, name: str) -> str:
    value = front.get(key)
    told = "" if value is None or isinstance(value, (list, dict)) else _storable(str(value), key, name)
    if not visible(told):
        raise UsageError(f"{name} has no {key}. Add '{key}: …' to its front matter (docs/spec.md).")
    return " ".join(told.split())


def _texts(front: dict[str, Any], key: str, name: str) -> list[str]:
    value = front.get(key) or []
    values = [value] if isinstance(value, str) else value
    if not isinstance(values, list) or not all(isinstance(v, str | int | float) for v in values):
        raise UsageError(f"{name}: {key} must be a list of texts (docs/spec.md).")
    return [_storable(str(v), key, name) for v in values]


def _storable(text: str, key: str, name: str) -> str:
    """YAML can write with escapes what no database takes as text."""
    if UNSTORABLE.search(text):
        raise UsageError(f"{name}: {key} contains a character that can't be stored. Write it without (docs/spec.md).")
    return text


def section(body: str, heading: str, level: str = "##") -> str:
    """The text below a `## heading`, up to the next heading of the same or a higher level."""
    pattern = rf"{_heading(heading, level)}\n(.*?)(?=^##?[ \t]+\S|\Z)"
    match = re.search(pattern, without_fenced_headings(body), re.MULTILINE | re.DOTALL | re.IGNORECASE)
    return match.group(1).replace("\x01", "#").strip() if match else ""


def _heading(words: str, level: str = "##") -> str:
    return rf"^{level}[ \t]+" + r"[ \t]+".join(re.escape(word) for word in words.split()) + r"[ \t]*$"


def without_fenced_headings(body: str) -> str:
    """A `# comment` inside a fenced block is no heading: hide it while looking for headings."""
    lines, inside = [], False
    for line in body.split("\n"):
        if line.startswith("```"):
            inside = not inside
        lines.append(line.replace("#", "\x01", 1) if inside and line.startswith("#") else line)
    return "\n".join(lines)


def _command(text: str, name: str) -> str:
    blocks = _fenced(text)
    if text and len(blocks) != 1:
        raise UsageError(
            f'{name}: "## Test Command" needs exactly one fenced block, it has {len(blocks)} (docs/spec.md).'
        )
    return blocks[0].strip() if blocks else ""


def _lines(text: str, name: str) -> tuple[str, ...]:
    """One command a line, in one fenced block."""
    blocks = _fenced(text)
    if text and len(blocks) != 1:
        raise UsageError(f'{name}: "## Gate Commands" needs exactly one fenced block (docs/spec.md).')
    lines = blocks[0].splitlines() if blocks else []
    return tuple(line.strip() for line in lines if line.strip() and not line.strip().startswith("#"))


def _fenced(text: str) -> list[str]:
    """The fenced blocks; one that is never closed is none."""
    blocks: list[str] = []
    inside: list[str] | None = None
    for line in text.split("\n"):
        if inside is None:
            inside = [] if line.startswith("```") else None
        elif line.startswith("```") and not line[3:].strip():
            blocks.append("\n".join(inside))
            inside = None
        else:
            inside.append(line)
    return blocks


def _requirements(text: str, name: str) -> tuple[Requirement, ...]:
    found = []
    for match in REQUIREMENT.finditer(text):
        ident, before, rest = match[1], match[2], match[3].strip()
        if not rest:
            continue
        tag = before or next(iter(TAG.findall(rest)), "MVP")
        found.append(Requirement(ident, TAG.sub("", rest).strip(), tag))
    twice = repeated([requirement.id for requirement in found])
    if twice:
        raise UsageError(f"{name} names {twice} twice. Give each requirement its own id.")
    return tuple(found)
