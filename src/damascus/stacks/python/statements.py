"""The statements of a Python source that make code, whatever Python runs it.

Left out is what some Python makes no code of (docstrings, `pass`, `global`, `continue`, a bare annotation) and what is
for type checkers or subclasses alone.
"""

import ast
from collections.abc import Iterator

from damascus.stacks.coverage import LineCoverage, Statement
from damascus.stacks.python.names import Names
from damascus.stacks.python.probe.reading import PythonProbe
from damascus.stacks.python.text import blocks, decoded, parsed

SILENT = (ast.Pass, ast.Global, ast.Nonlocal, ast.Continue, ast.Break)
Scope = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def statements(source: bytes, _: str) -> list[Statement]:
    """Raises ValueError for what this Python can't parse."""
    tree = parsed(decoded(source)[0])
    return list(_in(tree.body, Names.of(tree)))


def _in(body: list[ast.stmt], names: Names) -> Iterator[Statement]:
    stack = list(reversed(body))
    while stack:
        node = stack.pop()
        if not _silent(node):
            yield _own(node)
        stack += [one for block in reversed(_inner(node, names)) for one in reversed(block)]


def _inner(node: ast.stmt, names: Names) -> list[list[ast.stmt]]:
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            unbound = any(names.is_typing(one, "overload") or names.is_abstract(one) for one in node.decorator_list)
            return [] if unbound else [node.body]
        case ast.ClassDef(bases=bases):
            return [] if any(names.is_typing(base, "Protocol") for base in bases) else [node.body]
        case ast.If(test=test) if names.is_typing(test, "TYPE_CHECKING"):
            return [node.orelse]
    return blocks(node)


def _silent(node: ast.stmt) -> bool:
    match node:
        case ast.Expr(value=ast.Constant()):
            return True
        case ast.AnnAssign(value=None):
            return True
        case ast.If(test=ast.Constant()) | ast.While(test=ast.Constant()):
            return True
    return isinstance(node, SILENT)


def _own(node: ast.stmt) -> Statement:
    within = [_first_line(block[0]) for block in blocks(node) if block]
    last = min(within) - 1 if within else node.end_lineno or node.lineno
    return Statement(_first_line(node), max(node.lineno, last))


def _first_line(node: ast.stmt) -> int:
    """A decorated one begins with its first decorator, as Python counts it."""
    decorators = node.decorator_list if isinstance(node, Scope) else []
    return min([node.lineno, *(one.lineno for one in decorators)])


COVERAGE = LineCoverage(statements, PythonProbe)
