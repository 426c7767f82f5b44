"""Tests that stand inside the code (Rust's test modules, Python's examples in docstrings): the base's on the
candidate's code, and the story's on the base."""

from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from damascus.domain.ports import Candidate
from damascus.gates.base_tests import belongs_to_tests
from damascus.stacks import stack_of
from damascus.stacks.written import READ_LIMIT


@dataclass
class InSources:
    """Contents to lay over the candidate's code, and the files in which that can't be done."""

    files: dict[str, bytes] = field(default_factory=dict)
    unreadable: list[str] = field(default_factory=list)


def tests_in_sources(candidate: Candidate) -> InSources:
    found = InSources()
    for file in candidate.changed:
        if file.status not in ("M", "T") or belongs_to_tests(candidate, file.path):
            continue
        both = [candidate.read(commit, file.path) or b"" for commit in (candidate.base, candidate.commit)]
        try:
            now = _as_the_base_has_it(file.path, *(data.decode("utf-8", errors="surrogateescape") for data in both))
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            found.unreadable.append(file.path)
            continue
        if now is not None:
            found.files[file.path] = now.encode("utf-8", errors="surrogateescape")
    return found


def story_tests_on_base(candidate: Candidate, laid: Collection[str]) -> dict[str, bytes]:
    """The base's sources with the tests that the story wrote into them; those of `laid` are there as they are."""
    holding = [file for file in candidate.changed if file.status != "D" and _may_hold(candidate, file.path, laid)]
    added = {_module(file.path) for file in holding if file.status == "A"}
    found = {}
    for file in holding:
        both = [candidate.read(commit, file.path) or b"" for commit in (candidate.commit, candidate.base)]
        stack = stack_of(file.path)
        inner = stack.inner_tests() if stack is not None and stack.inner_tests is not None else None
        try:
            now = inner.on_base(both[0].decode(), both[1].decode(), added) if inner is not None else None
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            continue
        if now is not None or file.status == "A":
            found[file.path] = (now or "").encode()  # a module that is declared must be there
    return found


def _may_hold(candidate: Candidate, path: str, laid: Collection[str]) -> bool:
    stack = stack_of(path)
    if path in laid or belongs_to_tests(candidate, path) or stack is None or stack.inner_tests is None:
        return False
    source = candidate.read(candidate.commit, path) or b""
    return len(source) <= READ_LIMIT and stack.inner_tests().may_hold(source.decode("utf-8", errors="replace"))


def _module(path: str) -> str:
    pure = PurePosixPath(path)
    return pure.parent.name if pure.stem == "mod" else pure.stem


def _as_the_base_has_it(path: str, base: str, candidate: str) -> str | None:
    stack = stack_of(path)
    inner = stack.inner_tests() if stack is not None and stack.inner_tests is not None else None
    if inner is None or not inner.may_hold(base):
        return None
    if max(len(base), len(candidate)) > READ_LIMIT:
        raise ValueError("too long")
    return inner.with_tests_of(base, candidate)
