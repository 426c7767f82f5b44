"""The spec format: Markdown with front matter (docs/spec.md). Parsed at the door, frozen when queued."""

import hashlib
import re
from collections import Counter
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from damascus.domain.errors import UsageError
from damascus.domain.ids import StoryId, story_id
from damascus.domain.scope import Scope, parse_scope
from damascus.domain.verdict import Kind

KEYS = {"story", "title", "scope", "depends_on", "priority", "kind", "may_remove", "may_change", "acceptance"} | {
    "complexity",
    "domain",
}
COMPLEXITIES = ("low", "normal", "high")
REQUIREMENT = re.compile(
    r"^[ \t]{0,40}[-*][ \t]{1,20}(REQ-\d{1,9})[ \t]{0,20}(?:\(([A-Z]{1,20})\))?[ \t]{0,20}:([^\n]*)$", re.MULTILINE
)
TAG = re.compile(r"\((MVP|EXT|FUTURE|SKIP)\)")
LARGEST_SPEC = 1_000_000
LARGEST_FRONT = 64_000
UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
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
    acceptance: str | None = None
    complexity: str = "normal"
    domain: str = ""
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


def decode(raw: bytes, name: str) -> str:
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as err:
        raise UsageError(
            f"{name} is not UTF-8 (byte {err.start} is 0x{raw[err.start]:02x}). Save it as UTF-8."
        ) from None
    if "\x00" in text:
        raise UsageError(f"{name} contains a NUL character. Save it as plain UTF-8 text.")
    return text.replace("\r\n", "\n")


@lru_cache(maxsize=64)
def parse_spec(raw: bytes, name: str = "the spec", *, rough: bool = False) -> Spec:
    """Parse a spec file. Strict unless `rough`, which needs only story and title."""
    if len(raw) > LARGEST_SPEC:
        raise UsageError(f"{name} is larger than {LARGEST_SPEC:,} bytes. Split the story (docs/spec.md).")
    front, body = split(decode(raw, name), name)
    unknown = sorted(set(front) - KEYS)
    if unknown:
        raise UsageError(f"{name} has the unknown key {unknown[0]!r}. Known: {', '.join(sorted(KEYS))} (docs/spec.md).")
    try:
        spec = _build(front, body, name)
    except UsageError as err:
        raise UsageError(f"{name}: {err}" if name not in str(err) else str(err)) from None
    except ValueError:
        # Python writes no number of thousands of digits.
        raise UsageError(f"{name}: a number in the front matter is too large (docs/spec.md).") from None
    if not rough:
        _require_whole(spec, name)
    return spec


def split(text: str, name: str) -> tuple[dict[str, Any], str]:
    import yaml

    front_text, body = _front_and_body(text)
    if front_text is None:
        raise UsageError(
            f"{name} has no front matter. Start it with a line '---', then story, title and scope, "
            "then '---' (docs/spec.md)."
        )
    try:
        loader = yaml.SafeLoader(front_text)
        node = loader.get_single_node()
        _refuse_key_twice(node, name)
        front = (loader.construct_document(node) if node is not None else None) or {}
    except (yaml.YAMLError, ValueError, RecursionError) as err:
        raise UsageError(
            f"{name}: the front matter is not valid YAML: {str(err).splitlines()[0]} (docs/spec.md)."
        ) from None
    if not isinstance(front, dict):
        raise UsageError(f"{name}: the front matter must be 'key: value' lines (docs/spec.md).")
    return {str(key): value for key, value in front.items()}, body


def _front_and_body(text: str) -> tuple[str | None, str]:
    """What stands between the first two lines of dashes, and what comes behind."""
    if not text.startswith("---\n"):
        return None, ""
    at = text.find("\n---", 3)
    while at >= 0:
        end = text.find("\n", at + 1)
        end = len(text) if end < 0 else end
        if not text[at + 4 : end].strip():
            return (text[4:at] if at <= LARGEST_FRONT else None), text[end + 1 :]
        at = text.find("\n---", end) if at <= LARGEST_FRONT else -1
    return None, ""


def _refuse_key_twice(front: Any, name: str) -> None:
    """YAML lets the last one win, silently."""
    pairs = front.value if getattr(front, "id", "") == "mapping" else []
    twice = _twice([str(key.value) for key, _ in pairs])
    if twice is not None:
        raise UsageError(f"{name} has the key {twice!r} twice. Keep one of them (docs/spec.md).")


def _twice(names: list[str]) -> str | None:
    return next((name for name, count in Counter(names).items() if count > 1), None)


def _build(front: dict[str, Any], body: str, name: str) -> Spec:
    story = story_id(_text(front, "story", name))
    patterns = _texts(front, "scope", name)
    priority = front.get("priority", 2)
    if not isinstance(priority, int) or isinstance(priority, bool) or not 0 <= priority <= 3:
        raise UsageError(f"{name}: priority is {priority!r}; use 0 (first) to 3.")
    kind = str(front.get("kind", "feature"))
    if kind not in list(Kind):
        raise UsageError(f"{name}: kind is {kind!r}; use feature, refactor or docs.")
    complexity = str(front.get("complexity", "normal"))
    if complexity not in COMPLEXITIES:
        raise UsageError(f"{name}: complexity is {complexity!r}; use {', '.join(COMPLEXITIES)}.")
    scope = parse_scope(patterns) if "scope" in front else None
    return Spec(
        story=story,
        title=_text(front, "title", name),
        scope=scope,
        tdd_plan=section(body, "TDD Plan"),
        test_command=_command(section(body, "Test Command"), name),
        requirements=_requirements(section(body, "Requirements"), name),
        depends_on=tuple(story_id(dep) for dep in _texts(front, "depends_on", name)),
        priority=priority,
        kind=Kind(kind),
        may_remove=tuple(_texts(front, "may_remove", name)),
        may_change=tuple(_texts(front, "may_change", name)),
        acceptance=_text(front, "acceptance", name) if "acceptance" in front else None,
        complexity=complexity,
        domain=_text(front, "domain", name).lower() if "domain" in front else "",
        body=body,
    )


def _require_whole(spec: Spec, name: str) -> None:
    for what in spec.missing():
        if what == "scope":
            raise UsageError(
                f"{name} has no scope. List the files or folders that the story may write. "
                "Nothing was queued. (docs/spec.md)"
            )
        example = f" with one fenced block, for example:{EXAMPLE}\n      " if "Test" in what else "."
        raise UsageError(f"{name} has no {what}. Add that heading{example} Nothing was queued. (docs/spec.md)")


def _text(front: dict[str, Any], key: str, name: str) -> str:
    value = front.get(key)
    if value is None or isinstance(value, (list, dict)) or not str(value).strip():
        raise UsageError(f"{name} has no {key}. Add '{key}: …' to its front matter (docs/spec.md).")
    return _storable(" ".join(str(value).split()), key, name)


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
    words = r"[ \t]+".join(re.escape(word) for word in heading.split())
    pattern = rf"^{level}[ \t]+{words}[ \t]*\n(.*?)(?=^##?[ \t]+\S|\Z)"
    match = re.search(pattern, without_fenced_headings(body), re.MULTILINE | re.DOTALL | re.IGNORECASE)
    return match.group(1).replace("\x01", "#").strip() if match else ""


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
    twice = _twice([requirement.id for requirement in found])
    if twice:
        raise UsageError(f"{name} names {twice} twice. Give each requirement its own id.")
    return tuple(found)
