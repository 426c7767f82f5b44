"""The test modules inside a Rust source, found without a parser: texts, comments, characters and braces do."""

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from damascus.stacks.inner_tests import InnerTests

NEXT = re.compile(r"//|/\*|\b(?:b|c)?r#*\"|\"|'|#!?\[|[{}\[\]();]|\b[A-Za-z_]\w*")
COMMENT = re.compile(r"/\*|\*/")
STRING_END = re.compile(r"\\.|\"", re.DOTALL)
CHARACTER = re.compile(r"'(?:\\(?:u\{[0-9a-fA-F_]{1,8}\}|x[0-9a-fA-F]{2}|.)|[^\\'\n])'")
OF_TESTS = re.compile(r"#\[\s*cfg\s*\(\s*(?:test\s*\)|all\s*\(.*\btest\b)", re.DOTALL)
TEST = re.compile(r"#\[\s*(?:\w+\s*::\s*)*test\b")
MODULE = re.compile(r"^(?:pub(?:\([^)\n]*\))?[ \t]+)?mod[ \t]+(?P<name>\w+)[ \t]*;", re.M)
OPENS, CLOSES = "{[(", "}])"


class UnreadableRust(ValueError):
    """Something does not end."""


@dataclass(frozen=True)
class Token:
    text: str
    start: int
    end: int


@dataclass(frozen=True)
class TestItems:
    """Where the items that are compiled for tests only stand; `stray` are tests outside of them."""

    __test__ = False

    spans: tuple[tuple[int, int], ...]
    stray: bool


def tokens(source: str) -> Iterator[Token]:
    """What is code: no comment, no text; an attribute as a whole."""
    at = 0
    while (found := NEXT.search(source, at)) is not None:
        text, start = found[0], found.start()
        at = _end(source, found)
        if text.startswith("#"):
            at = _attribute_end(source, found.end())
            yield Token(source[start:at], start, at)
        elif text not in ("//", "/*", "'") and not text.endswith('"'):
            yield Token(text, start, at)


def _end(source: str, found: re.Match[str]) -> int:
    text = found[0]
    if text == "//":
        end = source.find("\n", found.end())
        return len(source) if end < 0 else end
    if text == "/*":
        return _comment_end(source, found.end())
    if text == "'":
        character = CHARACTER.match(source, found.start())
        return character.end() if character else found.end()  # else a lifetime
    if text.endswith('"'):
        return _text_end(source, found)
    return found.end()


def _comment_end(source: str, at: int) -> int:
    depth = 1
    while depth:
        found = COMMENT.search(source, at)
        if found is None:
            raise UnreadableRust
        depth += 1 if found[0] == "/*" else -1
        at = found.end()
    return at


def _text_end(source: str, found: re.Match[str]) -> int:
    if "r" in found[0]:
        closing = '"' + "#" * found[0].count("#")
        end = source.find(closing, found.end())
        if end < 0:
            raise UnreadableRust
        return end + len(closing)
    at = found.end()
    while (part := STRING_END.search(source, at)) is not None:
        at = part.end()
        if part[0] == '"':
            return at
    raise UnreadableRust


def _attribute_end(source: str, at: int) -> int:
    depth = 1
    while depth:
        found = NEXT.search(source, at)
        if found is None:
            raise UnreadableRust
        at = _end(source, found)
        depth += (found[0][-1] == "[") - (found[0] == "]")
    return at


def items_of_tests(source: str) -> TestItems:
    """Raises UnreadableRust for what can't be told apart, and for such items inside of other modules."""
    every = list(tokens(source))
    spans: list[tuple[int, int]] = []
    stray, depth, n = False, 0, 0
    while n < len(every):
        token = every[n]
        if OF_TESTS.match(token.text):
            if depth:
                raise UnreadableRust
            last = _item_end(every, n + 1)
            spans.append((token.start, every[last].end))
            n = last
        elif TEST.match(token.text):
            stray = True
        else:
            depth += (token.text in OPENS) - (token.text in CLOSES)
        n += 1
    return TestItems(tuple(spans), stray)


def _item_end(every: list[Token], n: int) -> int:
    """The `;` or the closing brace of the item that begins here."""
    depth = 0
    for at in range(n, len(every)):
        text = every[at].text
        depth += (text in OPENS) - (text in CLOSES)
        if depth == 0 and text in (";", "}"):
            return at
    raise UnreadableRust


def _texts(source: str, items: TestItems) -> list[str]:
    return [source[start:end] for start, end in items.spans]


def with_tests_of(base: str, candidate: str) -> str | None:
    """The candidate's code with the base's tests; None where it has just these. Raises UnreadableRust."""
    old, new = items_of_tests(base), items_of_tests(candidate)
    if old.stray:
        raise UnreadableRust
    if not old.spans or _texts(base, old) == _texts(candidate, new):
        return None
    code, at = [], 0
    for start, end in new.spans:
        code.append(candidate[at:start])
        at = end
    return "".join([*code, candidate[at:], "\n", *(base[start:end] + "\n" for start, end in old.spans)])


def on_base(candidate: str, base: str, added: Collection[str]) -> str | None:
    """The base's code with the candidate's tests, and with the modules that it has in new files of these names."""
    declared = {found["name"] for found in MODULE.finditer(base)}
    modules = [found[0] for found in MODULE.finditer(candidate) if found["name"] in set(added) - declared]
    now = with_tests_of(candidate, base)
    if now is None and not modules:
        return None
    return "\n".join([now if now is not None else base, *modules, ""])


INNER_TESTS = InnerTests(lambda base: True, with_tests_of, on_base)
