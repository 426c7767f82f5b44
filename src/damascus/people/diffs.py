"""What a story changes, file by file, what to look at first on top: parsed from git's patch, capped, in plain text."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from damascus import stacks
from damascus.app import Project
from damascus.domain.receipt import BuildReceipt
from damascus.people.changes import Change, patch
from damascus.telling.phrases import plain

MOST_BYTES = 2_000_000
MOST_LINES = 3_000
LINES_OF_A_FILE = 600
LONGEST_LINE = 400
HUNK = re.compile(r"@@ -(\d{1,9})(?:,\d{1,9})? \+(\d{1,9})(?:,\d{1,9})? @@")
BRANCHES = re.compile(r"\b(?:if|elif|else|for|while|case|match|switch|catch|except|try|when)\b|&&|\|\||\?")
RULES = re.compile(
    r"(?:^|/)(?:\.github|\.gitea|\.forgejo|\.ci)/|(?:^|/)(?:Dockerfile|Containerfile|Makefile|damascus\.toml|conftest\.py)$"
)
DELICATE = re.compile(r"auth|login|passw|secret|token|crypt|permission|session|payment|migrat", re.IGNORECASE)
TEXTS = (".md", ".rst", ".txt", ".adoc")

LineKind = Literal["added", "removed", "same", "hunk", "note"]


@dataclass(frozen=True)
class DiffLine:
    """One line of a patch; `number` is that of the new file, 0 where the line is not in it."""

    kind: LineKind
    text: str
    number: int = 0


@dataclass(frozen=True)
class FileDiff:
    """One file. `risk`: 3 is looked at first, 0 last; `why` says what makes it so."""

    path: str
    lines: tuple[DiffLine, ...]
    added: int
    removed: int
    risk: int
    why: str
    left_out: int = 0


@dataclass(frozen=True)
class StoryDiff:
    """The files in the order in which they should be read."""

    change: Change
    files: tuple[FileDiff, ...]
    left_out: int = 0
    """Files that are not shown: there is too much of it."""


def diff_by_risk(project: Project, change: Change, receipt: BuildReceipt | None) -> StoryDiff:
    raw = patch(project, change)[:MOST_BYTES].decode("utf-8", errors="replace")
    files = [_read(part, project.config.test.patterns, receipt) for part in _parts(raw)]
    files.sort(key=lambda file: (-file.risk, -(file.added + file.removed), file.path))
    shown, room = [], MOST_LINES
    for file in files:
        if room <= 0:
            break
        shown.append(file)
        room -= len(file.lines)
    return StoryDiff(change, tuple(shown), len(files) - len(shown))


def _parts(raw: str) -> Iterator[list[str]]:
    """The lines of each file, its heading first."""
    found: list[str] = []
    for line in raw.split("\n"):
        if line.startswith("diff --git ") and found:
            yield found
            found = []
        found.append(line)
    if found and found[0].startswith("diff --git "):
        yield found


def _read(part: list[str], patterns: Sequence[str], receipt: BuildReceipt | None) -> FileDiff:
    path = _path(part)
    lines = list(_lines(part))
    added = sum(line.kind == "added" for line in lines)
    removed = sum(line.kind == "removed" for line in lines)
    gone = any(line.startswith("deleted file") for line in part[:6])
    risk, why = _risk(path, lines, receipt, is_test=stacks.is_test(path, patterns), gone=gone)
    kept = tuple(lines[:LINES_OF_A_FILE])
    return FileDiff(plain(path), kept, added, removed, risk, why, len(lines) - len(kept))


def _path(part: list[str]) -> str:
    """As git names it after the change; of a file that is gone, before it."""
    for start in ("+++ b/", "--- a/", "rename to "):
        named = next((line.removeprefix(start) for line in part[:10] if line.startswith(start)), None)
        if named is not None:
            return named.rstrip("\t")
    return part[0].rpartition(" b/")[2]


def _lines(part: list[str]) -> Iterator[DiffLine]:
    number, inside = 0, False
    for line in part[1:]:
        text = plain(line)[:LONGEST_LINE]
        if hunk := HUNK.match(line):
            number, inside = int(hunk.group(2)), True
            yield DiffLine("hunk", text)
        elif not inside:
            if line.startswith(("new file", "deleted file", "rename ", "old mode", "new mode", "Binary")):
                yield DiffLine("note", text)
        elif line.startswith("+"):
            yield DiffLine("added", text[1:], number)
            number += 1
        elif line.startswith("-"):
            yield DiffLine("removed", text[1:])
        elif line.startswith("\\"):
            yield DiffLine("note", text)
        elif line:
            yield DiffLine("same", text[1:], number)
            number += 1


# ── what to look at first ─────────────────────────────────────────────────────────────────────────────


def _risk(
    path: str, lines: Sequence[DiffLine], receipt: BuildReceipt | None, *, is_test: bool, gone: bool
) -> tuple[int, str]:
    """By what the file is, then by what changes in it."""
    if RULES.search(path):
        return 3, "it says how code is built or judged"
    if is_test:
        removed = any(line.kind == "removed" and line.text.strip() for line in lines)
        return (3, "a test is gone") if gone else (2, "an old test is changed") if removed else (0, "new tests")
    if path.endswith(TEXTS):
        return 0, "text"
    if DELICATE.search(path):
        return 3, "its name says that it is delicate"
    if gone:
        return 2, "it is gone"
    return _of_code(path, lines, receipt)


def _of_code(path: str, lines: Sequence[DiffLine], receipt: BuildReceipt | None) -> tuple[int, str]:
    places = {place for line in receipt.requirement_lines for place in line.code} if receipt else set()
    if receipt is not None and not any(place.rpartition(":")[0] == path for place in places):
        return 3, "code that no requirement is known to rest on"
    branches = sum(len(BRANCHES.findall(line.text)) for line in lines if line.kind == "added")
    if branches:
        return 2, f"{branches} new branch{'es' if branches > 1 else ''}"
    return 1, "code"
