"""The pattern library (A4, docs/patterns.md): an index of keywords, the entries that it names, and the search.

The index is a table `Keywords | Pattern`; an entry begins with `## PATTERN-001: title` and has fields below. Both are
read from main: whatever they hold, they give patterns and faults, and nothing here raises.
"""

import posixpath
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from damascus.domain.tasks import RULE, cells

LARGEST = 1_000_000
MOST_PATTERNS = 2_000
MOST_FILES = 200
MOST_WORDS = 20_000
"""Characters of a task in which words are looked for."""
PATTERN_ID = re.compile(r"PATTERN-[A-Z0-9-]{1,40}")
ENTRY = re.compile(r"##[ \t]+(PATTERN-[A-Z0-9-]{1,40})[ \t]*:?[ \t]*(.{0,300})")
FIELD = re.compile(r"[ \t]*(?:[-*][ \t]+)?(?:\*\*)?([A-Za-z][A-Za-z_ -]{0,30}?)[ \t]*(?::\*\*|\*\*[ \t]*:|:)[ \t]*(.*)")
NAMED = re.compile(r"\]\(([^()\s]{1,200})\)|`([^`\s]{1,200})`")
WORD = re.compile(r"[a-z0-9][a-z0-9.+#]{0,60}")
CODE = re.compile(r"`([^`\n]{3,200})`")
FIELDS = ("domain", "stack", "context", "pattern", "pitfall_avoided", "reuse_signal", "evidence")
SAY_NOTHING = re.compile(
    "a|all|an|and|any|are|as|at|be|been|but|by|can|each|every|for|from|has|have|her|his|if|in|into|is|it|its|more|must|"
    "new|no|not|of|on|one|only|or|other|our|out|shall|should|so|such|that|the|their|them|then|there|these|they|this|to|"
    "use|used|user|users|using|was|we|what|when|where|which|who|will|with|without|you"
)


@dataclass(frozen=True)
class Pattern:
    """One entry; of one that only the index names, just its keywords are known."""

    id: str
    title: str = ""
    fields: Mapping[str, str] = field(default_factory=dict)
    keywords: tuple[str, ...] = ()
    file: str = ""

    @property
    def name(self) -> str:
        return f"{self.id} ({self.title})" if self.title else self.id

    def told(self, field_name: str) -> str:
        return self.fields.get(field_name, "")


@dataclass(frozen=True)
class Library:
    """All that was read, in the order of the index and its files, and what could not be."""

    patterns: tuple[Pattern, ...] = ()
    faults: tuple[str, ...] = ()

    def find(self, ident: str) -> Pattern | None:
        return next((one for one in self.patterns if one.id == ident), None)


# ── reading ───────────────────────────────────────────────────────────────────────────────────────────


def named_files(index: str, raw: bytes) -> list[str]:
    """Files (`….md`) and folders (`…/`) that the index links or quotes, relative to the repository; none outside."""
    folder, found = posixpath.dirname(index), []
    for link, quoted in NAMED.findall(_text(raw)[0]):
        target = (link or quoted).partition("#")[0].removesuffix("*.md")
        if not target.endswith((".md", "/")) or target.startswith(("/", "~")) or "//" in target or ":" in target:
            continue
        path = posixpath.normpath(posixpath.join(folder, target))
        if not path.startswith("../") and path not in ("..", index):
            found.append(f"{path}/" if target.endswith("/") and path != "." else path)
    return list(dict.fromkeys(found))[:MOST_FILES]


def read_library(index: str, raw: bytes, files: Mapping[str, bytes]) -> Library:
    """The index, and the entries in it and in `files`. An index that names no pattern is a fault."""
    text, fault = _text(raw)
    if fault:
        return Library(faults=(f"{index} {fault}",))
    faults = []
    rows = _rows(text)
    found: dict[str, Pattern] = {}
    for path, content in {index: raw, **files}.items():
        read, fault = _text(content)
        faults += [f"{path} {fault}"] if fault else []
        for entry in _entries(read, path):
            found.setdefault(entry.id, entry)
    listed = {**{ident: Pattern(ident, title, file=index) for ident, (title, _) in rows.items()}, **found}
    patterns = [_with_keywords(one, rows) for one in list(listed.values())[:MOST_PATTERNS]]
    if not patterns:
        faults.append(f"{index} names no pattern: it needs a table Keywords | Pattern, or entries `## PATTERN-001: …`")
    return Library(tuple(patterns), tuple(faults))


def _text(raw: bytes) -> tuple[str, str]:
    """The text, and why there is none."""
    if len(raw) > LARGEST:
        return "", f"is larger than {LARGEST:,} bytes"
    try:
        return raw.decode("utf-8-sig").replace("\r\n", "\n"), ""
    except UnicodeDecodeError as err:
        return "", f"is not UTF-8 (byte {err.start})"


def _rows(text: str) -> dict[str, tuple[str, list[str]]]:
    """By pattern: what its cell says beside the id, and its keywords."""
    found: dict[str, tuple[str, list[str]]] = {}
    for line in text.split("\n"):
        row = line.strip()
        if not row.startswith("|") or RULE.match(row):
            continue
        told = [*cells(row[:4000]), ""]
        keywords = [word.strip(" `*").lower() for word in re.split(r"[,;]", told[0])]
        for ident in dict.fromkeys(PATTERN_ID.findall(told[1])):
            listed = found.setdefault(ident, (_rest(told[1], ident), []))[1]
            listed += [word for word in keywords if word and word not in listed]
    return found


def _rest(cell: str, ident: str) -> str:
    """`PATTERN-001: title`, or a link whose text has the title."""
    text = re.sub(r"\]\([^()]{0,300}\)", "]", cell).replace("[", "").replace("]", "")
    return text.partition(ident)[2].strip(" :`*()-–—") if ident in text else ""


def _entries(text: str, path: str) -> Iterable[Pattern]:
    head: tuple[str, str] | None = None
    fields: dict[str, str] = {}
    last = ""
    for line in text.split("\n"):
        if line.startswith("#"):
            if head:
                yield Pattern(*head, fields=fields, file=path)
            match = ENTRY.fullmatch(line.rstrip()) if len(line) < 500 else None
            head, fields, last = ((match[1], match[2].strip()) if match else None), {}, ""
        elif head and line.strip():
            last = _take(line[:4000], fields, last)
    if head:
        yield Pattern(*head, fields=fields, file=path)


def _take(line: str, fields: dict[str, str], last: str) -> str:
    """A field of this line, or more of the last one."""
    match = FIELD.fullmatch(line)
    name = match[1].strip().lower().replace(" ", "_").replace("-", "_") if match else ""
    if match and name in FIELDS:
        fields.setdefault(name, match[2].strip())
        return name
    if last and len(fields[last]) < 8000:
        fields[last] = f"{fields[last]}\n{line.rstrip()}".strip()
    return last


def _with_keywords(one: Pattern, rows: Mapping[str, tuple[str, list[str]]]) -> Pattern:
    title, keywords = rows.get(one.id, ("", []))
    return Pattern(one.id, one.title or title, one.fields, tuple(keywords), one.file)


def words(text: str) -> set[str]:
    """Without those that say nothing, and one with its plural."""
    found = WORD.findall(text[:MOST_WORDS].lower())
    return {singular(word.strip(".")) for word in found if len(word) > 1 and not SAY_NOTHING.fullmatch(word)} - {""}


def singular(word: str) -> str:
    plural = len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "js"))
    return word[:-1] if plural else word
