"""Which files of a workspace do not count: what the base commit ignores, and what no project wants.

The rules come from the base. Git itself would read the .gitignore files that lie in the workspace, so an agent could
hide a file from the scope gate with one line. The patterns are gitignore(5), another language than that of scopes
(domain/scope.py says how): a test compares them with git's answers.
"""

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from damascus.stacks.others import names

CACHE_FOLDERS = names(lambda footprint: footprint.caches)
BUILT_IN = (*(f"{name}/" for name in CACHE_FOLDERS), *names(lambda footprint: footprint.left))
HEAVY_FOLDERS = frozenset((*CACHE_FOLDERS, *names(lambda footprint: footprint.heavy)))
"""Left out of a snapshot, where they are ignored: they can be made again."""

POSIX = {
    "alpha": "a-zA-Z", "digit": "0-9", "alnum": "a-zA-Z0-9", "upper": "A-Z", "lower": "a-z", "space": r" \t\n\r\f\v",
    "blank": r" \t", "xdigit": "0-9a-fA-F", "punct": r"!-/:-@\[-`{-~", "cntrl": r"\x00-\x1f\x7f", "graph": "!-~",
    "print": " -~",
}  # fmt: skip
BYTES = "latin-1"
"""Git matches bytes, so that `?` is one of them; each becomes one character here."""


@dataclass(frozen=True)
class Rule:
    """One line of a .gitignore."""

    matcher: re.Pattern[str]
    negated: bool
    folders_only: bool


@dataclass(frozen=True)
class Rules:
    """Lines in rising precedence: the last one that matches decides."""

    rules: tuple[Rule, ...]

    def ignore(self, path: str, *, folder: bool) -> bool:
        """Is this very path ignored? What lies in an ignored folder is too: the walker knows its folders."""
        name = os.fsencode(path).decode(BYTES)
        for rule in reversed(self.rules):
            if (folder or not rule.folders_only) and rule.matcher.fullmatch(name):
                return not rule.negated
        return False


def rules_from(files: Mapping[str, bytes]) -> Rules:
    """The built-in rules, then each .gitignore (path and content), outer folders before inner ones."""
    rules = list(_parsed("", "\n".join(BUILT_IN)))
    for path in sorted(files, key=lambda path: (path.count("/"), path)):
        text = files[path].removeprefix(b"\xef\xbb\xbf").decode(BYTES)
        rules += _parsed(os.fsencode(path.rpartition("/")[0]).decode(BYTES), text)
    return Rules(tuple(rules))


def _parsed(folder: str, text: str) -> Iterable[Rule]:
    for raw in text.split("\n"):
        if (line := _trimmed(raw.removesuffix("\r"))) and not line.startswith("#"):
            rule = _rule(folder, line)
            if rule is not None:
                yield rule


def _trimmed(line: str) -> str:
    """Trailing spaces go, unless the last one kept is escaped."""
    bare = line.rstrip(" ")
    backslashes = len(bare) - len(bare.rstrip("\\"))
    return bare + " " if len(bare) < len(line) and backslashes % 2 else bare


def _rule(folder: str, line: str) -> Rule | None:
    negated = line.startswith("!")
    pattern = line[1:] if negated else line
    folders_only = pattern.endswith("/")
    pattern = pattern.removesuffix("/")
    if not pattern:
        return None
    inside = re.escape(folder + "/") if folder else ""
    anchored = "/" in pattern
    body = _wild(pattern.removeprefix("/") if anchored else pattern)
    if body is None:
        return None
    anywhere = "" if anchored else "(?:.*/)?"
    return Rule(re.compile(inside + anywhere + body, re.DOTALL), negated, folders_only)


def _wild(pattern: str) -> str | None:
    """A wildmatch pattern as a regular expression; None for one that can never match."""
    out, at = "", 0
    while at < len(pattern):
        if pattern.startswith("**", at):
            piece, at = _stars(pattern, at)
        elif pattern[at] == "[":
            bracket = _bracket(pattern, at)
            if bracket is None:
                return None
            piece, at = bracket
        elif pattern[at] == "\\":
            if at + 1 == len(pattern):
                return None
            piece, at = re.escape(pattern[at + 1]), at + 2
        else:
            piece = {"*": "[^/]*", "?": "[^/]"}.get(pattern[at], re.escape(pattern[at]))
            at += 1
        out += piece
    return out


def _stars(pattern: str, at: int) -> tuple[str, int]:
    """`**` crosses folders only where it stands alone between slashes."""
    end = at
    while end < len(pattern) and pattern[end] == "*":
        end += 1
    if at > 0 and pattern[at - 1] != "/":
        return "[^/]*", end
    if end == len(pattern):
        return ".*", end
    if pattern[end] == "/":
        return "(?:.*/)?", end + 1
    return "[^/]*", end


def _bracket(pattern: str, at: int) -> tuple[str, int] | None:
    """A character class; it never matches a slash. None if it is not closed."""
    at += 1
    negated = pattern[at : at + 1] in ("!", "^")
    at += negated
    inside, last = "", ""  # `last` may start a range
    begin = at
    while at == begin or pattern[at : at + 1] != "]":
        if at >= len(pattern):
            return None
        named = re.match(r"\[:(\w*):\]", pattern[at:])
        if named:
            if named[1] not in POSIX:
                return None
            inside, at, last = inside + POSIX[named[1]], at + len(named[0]), ""
            continue
        ranged = last and pattern[at] == "-" and pattern[at + 1 : at + 2] not in ("", "]")
        at += bool(ranged)
        at += pattern[at] == "\\"
        char = pattern[at : at + 1]
        if not ranged:
            inside, last = inside + re.escape(char), char
        else:
            inside, last = inside + (f"{re.escape(last)}-{re.escape(char)}" if last <= char else ""), ""
        at += 1
    return f"(?!/)[{'^' if negated else ''}{inside}]", at + 1
