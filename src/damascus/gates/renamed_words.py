"""Names that a story gave anew, read from how it adapted its tests and believed only where the code agrees.

A name counts as renamed when the changed code has it no more and has another that it never had before, and a test that
kept its name differs in nothing but such names. Numbers, texts and operators must be the same.
"""

import re
from collections.abc import Iterator

from damascus.domain.ports import Candidate
from damascus.gates.base_tests import belongs_to_tests, of_tests
from damascus.stacks import stack_of, tests_in
from damascus.stacks.written import READ_LIMIT

WORD = re.compile(r"[A-Za-z_]\w*")
TREE_NAME = r"\b(?:id|attr|arg|name|module)='[A-Za-z_]\w*'"
"""How a name stands in the tree of a Python test; a text there is a `value`."""
TOKEN = re.compile(TREE_NAME + r"|[A-Za-z_]\w*|\d[\w.]*|\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*'|[^\s\w]")
NAME = re.compile(rf"{TREE_NAME}|[A-Za-z_]\w*")


def renamed_words(candidate: Candidate) -> dict[str, str]:
    """Old name to new one, one to one; empty where nothing is renamed or the tests tell two stories."""
    gone, come = _code_words(candidate)
    found: dict[str, str] = {}
    for old, new in _pairs(candidate):
        if old not in gone or new not in come or found.get(old, new) != new:
            continue
        found[old] = new
    return found if len(set(found.values())) == len(found) else {}


def _code_words(candidate: Candidate) -> tuple[set[str], set[str]]:
    """What the changed code had and has no more, and the other way round; a file's path counts as its name."""
    before: set[str] = set()
    after: set[str] = set()
    for file in candidate.changed:
        if stack_of(file.path) is None or belongs_to_tests(candidate, file.path):
            continue
        if file.status != "A":
            before |= _words(candidate.read(candidate.base, file.path), file.path)
        if file.status != "D":
            after |= _words(candidate.read(candidate.commit, file.path), file.path)
    return before - after, after - before


def _words(content: bytes | None, path: str) -> set[str]:
    text = (content or b"")[:READ_LIMIT].decode("utf-8", errors="replace")
    return set(WORD.findall(text)) | set(WORD.findall(path))


def _pairs(candidate: Candidate) -> Iterator[tuple[str, str]]:
    """Names at the same place of a test's old and new wording, found by its name or else by its shape."""
    new = {name: TOKEN.findall(body) for name, body in _bodies(candidate, old=False)}
    shapes: dict[tuple[str, ...], list[str]] = {}
    for tokens in new.values():
        shapes[_shape(tokens)] = tokens
    for name, body in _bodies(candidate, old=True):
        before = TOKEN.findall(body)
        after = new.get(name) or shapes.get(_shape(before), [])
        if _shape(before) == _shape(after):
            yield from ((_name(a), _name(b)) for a, b in zip(before, after, strict=True) if a != b)


def _shape(tokens: list[str]) -> tuple[str, ...]:
    """All but the names."""
    return tuple("" if NAME.fullmatch(token) else token for token in tokens)


def _name(token: str) -> str:
    return token.partition("=")[2].strip("'") or token


def _bodies(candidate: Candidate, *, old: bool) -> Iterator[tuple[str, str]]:
    commit, never = (candidate.base, "A") if old else (candidate.commit, "D")
    for file in of_tests(candidate):
        if file.status != never:
            content = candidate.read(commit, file.path) or b""
            yield from ((test.name, test.body) for test in tests_in(content, file.path).tests.values())
