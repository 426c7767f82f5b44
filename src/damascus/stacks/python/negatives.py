"""Does a Python test assert a refusal? By its syntax tree: an exception that it waits for, or a status that says no."""

import ast
from collections.abc import Iterable

EXPECTED = frozenset({"raises", "assertRaises", "assertRaisesRegex", "RaisesGroup", "RaisesExc"})
ENDED = frozenset({"returncode", "exit_code", "code", "status", "status_code", "exitcode"})


def is_negative(live: Iterable[ast.AST]) -> bool:
    return any(_expects(node) or _says_no(node) for node in live)


def _expects(node: ast.AST) -> bool:
    match node:
        case ast.Call(func=ast.Attribute(attr=name) | ast.Name(id=name)):
            return name in EXPECTED
        case _:
            return False


def _says_no(node: ast.AST) -> bool:
    """`assert result.returncode != 0`, `== 2`, `.status_code == 404`: whatever is told there is no success."""
    match node:
        case ast.Compare(left=ast.Attribute(attr=name), ops=[op], comparators=[ast.Constant(value=int(value))]):
            if name not in ENDED or isinstance(value, bool):
                return False
            http = name in ("status", "status_code")
            if isinstance(op, ast.NotEq):
                return value in ((200,) if http else (0,))
            return isinstance(op, ast.Eq | ast.GtE) and (value >= 400 if http else value > 0)
        case _:
            return False
