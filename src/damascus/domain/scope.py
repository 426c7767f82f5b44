"""The paths a story may write, and the text ranges by which two stories are kept apart.

A path is a point. A directory (ending in "/") or a glob is the range of everything that starts with its
static prefix. If two globs can match one path, both prefixes are prefixes of that path, so their ranges
overlap: the comparison never misses an overlap, and sometimes sees one where there is none.
"""

import re
from dataclasses import dataclass
from functools import cached_property, lru_cache

from damascus.domain.errors import UsageError

GLOB_CHARS = re.compile(r"[*?\[{]")
CHARACTERS = re.compile(r"\[([!^]?)(\][^\]]*|[^\]]+)\]", re.DOTALL)
LAST_CHAR = "\U0010ffff"
NO_TEXT = re.compile(f"[\ud800-\udfff{LAST_CHAR}]")
CONTROL = re.compile(r"[\x00-\x1f\x7f]")
CI_PATHS = (
    ".github/workflows/ci.yml",
    ".gitea/workflows/ci.yml",
    ".forgejo/workflows/ci.yml",
    ".gitlab-ci.yml",
    ".woodpecker.yml",
    ".woodpecker/ci.yml",
    ".circleci/config.yml",
    ".ci/run",
    "Jenkinsfile",
)
SETTINGS_FILE = "damascus.toml"
HELD_OUT = ".damascus-acceptance"
"""Where held-out tests are laid over a checkout: nobody else's to write."""
CI_FOLDERS = (".github/", ".gitea/", ".forgejo/", ".woodpecker/", ".circleci/", ".ci/")


@dataclass(frozen=True)
class Span:
    """A text range under collation "C": a point when `upper` is None."""

    lower: str
    upper: str | None = None

    def overlaps(self, other: "Span") -> bool:
        if self.upper is None and other.upper is None:
            return self.lower == other.lower
        low, high = (self, other) if self.lower <= other.lower else (other, self)
        return high.lower == low.lower if low.upper is None else high.lower < low.upper

    def literal(self) -> str:
        """The PostgreSQL range literal."""
        quoted = _quote(self.lower)
        return f"[{quoted},{quoted}]" if self.upper is None else f"[{quoted},{_quote(self.upper)})"


def _quote(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


@lru_cache(maxsize=1024)
def glob_regex(pattern: str) -> re.Pattern[str]:
    """`*` stays inside a folder, `**` crosses folders, `?`, `[…]` and `{a,b}` as usual.

    Scopes have a language of their own: gitignore has no `{a,b}`, an unclosed `[` there matches nothing (here itself),
    and `a**b` stays inside a folder (git/excludes.py); CI's filters know neither (forges/workflows.py). So each of the
    three has its reader: one for all would change what is matched.
    """
    return re.compile(_glob(pattern), re.DOTALL)


def _glob(pattern: str) -> str:
    out, i = "", 0
    while i < len(pattern):
        piece, i = _glob_piece(pattern, i)
        out += piece
    return out


def _glob_piece(pattern: str, i: int) -> tuple[str, int]:
    if pattern.startswith("**/", i):
        return "(?:.*/)?", i + 3
    if pattern.startswith("**", i):
        return ".*", i + 2
    char = pattern[i]
    if char in "*?":
        return ("[^/]*" if char == "*" else "[^/]"), i + 1
    if char == "{" and (end := pattern.find("}", i + 1)) > 0:
        choices = pattern[i + 1 : end].split(",")
        return "(?:" + "|".join(_glob(choice) for choice in choices) + ")", end + 1
    if char == "[" and (found := CHARACTERS.match(pattern, i)):
        inside = "".join(c if c == "-" else re.escape(c) for c in found.group(2))
        return ("[^/" if found.group(1) else "(?!/)[") + inside + "]", found.end()
    return re.escape(char), i + 1


@dataclass(frozen=True)
class Scope:
    """An ordered set of checked patterns."""

    patterns: tuple[str, ...]

    def allows(self, path: str) -> bool:
        return any(_matches(pattern, path) for pattern in self.patterns)

    def names(self, path: str) -> bool:
        """Is this very path written in the scope (not just covered by a folder or a glob)?"""
        return path in self.patterns

    @cached_property
    def _raw_spans(self) -> tuple[Span, ...]:
        return tuple(span_of(pattern) for pattern in self.patterns)

    def spans(self, owner: str) -> list[Span]:
        """The ranges to reserve, merged so that a story never conflicts with itself.

        `owner` (project and repo) starts every text, so no second column and no extension is needed.
        """
        merged: list[Span] = []
        for span in sorted(self._raw_spans, key=lambda s: (s.lower, s.upper is None)):
            if not (merged and merged[-1].overlaps(span)):
                merged.append(span)
        return [Span(f"{owner}:{s.lower}", None if s.upper is None else f"{owner}:{s.upper}") for s in merged]

    def overlaps(self, other: "Scope") -> bool:
        return any(a.overlaps(b) for a in self._raw_spans for b in other._raw_spans)

    def shared_with(self, other: "Scope") -> list[str]:
        """Which of its own patterns the other wants as well."""
        mine = zip(self.patterns, self._raw_spans, strict=True)
        return [pattern for pattern, span in mine if any(span.overlaps(theirs) for theirs in other._raw_spans)]


def _matches(pattern: str, path: str) -> bool:
    """A real file may be called `[id].tsx`: what is written in so many words is meant, and a bracket may be one."""
    if path == pattern or (pattern.endswith("/") and path.startswith(pattern)):
        return True
    if not GLOB_CHARS.search(pattern):
        return False
    whole = pattern + "**" if pattern.endswith("/") else pattern
    if glob_regex(whole).fullmatch(path) is not None:
        return True
    return "[" in whole and glob_regex(whole.replace("[", "[[]")).fullmatch(path) is not None


def span_of(pattern: str) -> Span:
    """Of a pattern that was checked."""
    glob = GLOB_CHARS.search(pattern)
    if glob is None and not pattern.endswith("/"):
        return Span(pattern)
    prefix = pattern[: glob.start()] if glob else pattern
    return Span(prefix, prefix + LAST_CHAR)


def parse_scope(patterns: list[str], protected: tuple[str, ...] = ()) -> Scope:
    """Check every pattern; `protected` are further paths (the spec) that no story may write."""
    if not patterns:
        raise UsageError("the scope is empty. List the files or folders the story may write (docs/spec.md).")
    checked = tuple(dict.fromkeys(checked_pattern(pattern, protected) for pattern in patterns))
    return Scope(checked)


def checked_pattern(pattern: str, protected: tuple[str, ...] = ()) -> str:
    """One pattern as a scope has it; refused with one sentence."""
    told = pattern.strip()
    text = (re.sub(r"/{2,}", "/", told) if "//" in told else told).removeprefix("./")
    parts = [part for part in text.split("/") if part]
    if not text or text in (".", "/") or not parts:
        raise UsageError(f"scope {pattern!r} covers the whole repository. Name files or folders (docs/spec.md).")
    if text.startswith(("/", "~")) or ":" in parts[0] or "\\" in text:
        raise UsageError(f"scope {pattern!r} is not relative to the repository. Write it like src/io/ (docs/spec.md).")
    if ".." in parts or "." in parts:
        raise UsageError(f"scope {pattern!r} contains '.' or '..'. Write it like src/io/ (docs/spec.md).")
    if CONTROL.search(text):
        raise UsageError(f"scope {pattern!r} contains a control character (docs/spec.md).")
    if NO_TEXT.search(text):
        raise UsageError(f"scope {pattern!r} contains a character that can't be used in a path (docs/spec.md).")
    try:
        if GLOB_CHARS.search(text):
            glob_regex(text)
    except re.error as err:
        raise UsageError(f"scope {pattern!r} is not a glob: {err} (docs/spec.md).") from None
    if any(part.lower() == "git~1" or _dotted_match(part.lower(), ".git") for part in parts):
        raise UsageError(f"scope {pattern!r} covers .git, which no story may write (docs/spec.md).")
    _refuse_protected(text, protected)
    return text


def _dotted_match(part: str, name: str) -> bool:
    """A part that is a plain `*` is not meant for hidden folders; one that begins with a dot is."""
    return part.startswith(".") and glob_regex(part).fullmatch(name) is not None


def covered(pattern: str, paths: tuple[str, ...]) -> str | None:
    """The first of these paths that the pattern covers."""
    if GLOB_CHARS.search(pattern):
        return next((path for path in paths if _matches(pattern, path)), None)
    if pattern.endswith("/"):
        return next((path for path in paths if path.startswith(pattern)), None)
    return pattern if pattern in paths else None


def _refuse_protected(text: str, protected: tuple[str, ...]) -> None:
    hit = covered(text, (SETTINGS_FILE, *CI_PATHS, *protected))
    if hit is None and text.startswith("."):
        first = text.split("/", maxsplit=1)[0]
        hit = next((folder for folder in CI_FOLDERS if _dotted_match(first, folder.rstrip("/"))), None)
    if hit is not None:
        raise UsageError(
            f"scope {text!r} covers {hit}, which judges the work and which no story may write. "
            "Name narrower paths (docs/spec.md)."
        )
