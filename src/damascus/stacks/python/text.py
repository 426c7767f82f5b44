"""A Python source as Python itself reads it: its encoding, its lines, and what a part of its syntax tree says.

Nothing here calls itself: an expression may be nested deeper than the interpreter's stack.
"""

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass

LINE_END = re.compile(rb"\r\n|\r|\n")
UNREADABLE = (SyntaxError, ValueError, RecursionError, MemoryError, LookupError)


def decoded(source: bytes) -> tuple[str, str]:
    """The text, and the encoding that it is written back in: by byte order mark or cookie. Raises ValueError."""
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(source).readline)
        return source.decode(encoding), encoding
    except UNREADABLE as err:
        raise ValueError(str(err)) from err


def parsed(text: str) -> ast.Module:
    """Raises ValueError for what this Python can't parse."""
    try:
        return ast.parse(text)
    except UNREADABLE as err:
        raise ValueError(str(err)) from err


@dataclass(frozen=True)
class Text:
    """A source in UTF-8 with the offsets of its lines; syntax trees count columns in such bytes."""

    source: bytes
    starts: tuple[int, ...]

    @classmethod
    def of(cls, source: bytes) -> "Text":
        return cls(source, (0, *(found.end() for found in LINE_END.finditer(source))))

    def at(self, line: int, column: int) -> int:
        return self.starts[line - 1] + column

    def span(self, node: ast.expr | ast.stmt) -> tuple[int, int]:
        start = self.at(node.lineno, node.col_offset)
        return start, self.at(node.end_lineno or node.lineno, node.end_col_offset or 0)

    def words(self, node: ast.expr | ast.stmt) -> str:
        start, end = self.span(node)
        return self.source[start:end].decode()


def said(node: ast.AST, bare: bool = False) -> str:
    """What it says, wherever it stands; `bare`: without annotations."""
    found: list[str] = []
    stack: list[object] = [node]
    while stack:
        one = stack.pop()
        if isinstance(one, ast.AST):
            found.append(type(one).__name__)
            stack += reversed(_fields(one, bare))
        elif isinstance(one, list):
            found.append(f"[{len(one)}")
            stack += reversed(one)
        else:
            found.append(repr(one))
    return " ".join(found)


def _fields(node: ast.AST, bare: bool) -> list[object]:
    if bare and isinstance(node, ast.arg):
        return [node.arg]
    if bare and isinstance(node, ast.AnnAssign):
        return [node.target, node.value]
    return [getattr(node, name, None) for name in node._fields if name not in ("ctx", "kind", "type_comment")]


def own(node: ast.AST, apart: tuple[type, ...]) -> Iterator[ast.AST]:
    """All nodes below one but those of `apart` and what is below them, in the order of the source."""
    stack = list(reversed(list(ast.iter_child_nodes(node))))
    while stack:
        one = stack.pop()
        if not isinstance(one, apart):
            yield one
            stack += reversed(list(ast.iter_child_nodes(one)))


def blocks(node: ast.stmt) -> list[list[ast.stmt]]:
    """The statements inside of a compound one that is neither a function nor a class."""
    if isinstance(node, ast.Match):
        return [case.body for case in node.cases]
    found = [getattr(node, name, []) for name in ("body", "orelse", "finalbody")]
    return [*found, *(handler.body for handler in getattr(node, "handlers", []))]
