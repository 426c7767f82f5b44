"""Tests that stand inside the code: Rust's test modules and Python's examples in docstrings, as the base has them."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field

from damascus.domain.ports import Candidate
from damascus.gates.base_tests import belongs_to_tests
from damascus.gates.rust_modules import Unreadable, with_tests_of
from damascus.stacks.stack import READ_LIMIT

EXAMPLE = ">>>"
Documented = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


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
        except (Unreadable, SyntaxError, ValueError, RecursionError, MemoryError):
            found.unreadable.append(file.path)
            continue
        if now is not None:
            found.files[file.path] = now.encode("utf-8", errors="surrogateescape")
    return found


def _as_the_base_has_it(path: str, base: str, candidate: str) -> str | None:
    if not path.endswith((".rs", ".py")) or (path.endswith(".py") and EXAMPLE not in base):
        return None
    if max(len(base), len(candidate)) > READ_LIMIT:
        raise Unreadable
    return with_tests_of(base, candidate) if path.endswith(".rs") else _with_examples_of(base, candidate)


def _with_examples_of(base: str, candidate: str) -> str | None:
    """Docstrings are values: set again at the end of the module. What is gone is missed by the run itself."""
    now = dict(_docstrings(ast.parse(candidate)))
    owed = {name: text for name, text in _docstrings(ast.parse(base)) if EXAMPLE in text and now.get(name) != text}
    if not owed:
        return None
    lines = [
        f"try:\n    {name} = {text!r}\nexcept (NameError, AttributeError):\n    pass" for name, text in owed.items()
    ]
    return "\n".join([candidate, *lines, ""])


def _docstrings(node: Documented, place: str = "") -> Iterator[tuple[str, str]]:
    text = ast.get_docstring(node, clean=False)
    if text is not None:
        yield f"{place}__doc__", text
    for child in node.body:
        if isinstance(child, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            inner = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
            yield from () if inner else _docstrings(child, f"{place}{child.name}.")
