"""Assertions of Python tests that name the value they expect: `assert f(1) == 2`, `self.assertEqual(f(1), 2)`."""

import ast
from collections.abc import Collection, Iterator

from damascus.stacks.expectations import ExpectedValue, only_once

Function = ast.FunctionDef | ast.AsyncFunctionDef
EQUAL = frozenset({"assertEqual", "assertEquals"})


def places(source: str, functions: Collection[tuple[str, Function]], tests: Collection[str]) -> Iterator[ExpectedValue]:
    starts = [0]
    for line in source.encode().splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    once = only_once(name for name, _ in functions)
    for name, function in functions:
        if name in once and name in tests and not _may_end_early(function):
            for statement in function.body:
                for side in _expected(statement):
                    start = starts[side.lineno - 1] + side.col_offset
                    end = starts[(side.end_lineno or side.lineno) - 1] + (side.end_col_offset or 0)
                    yield ExpectedValue(name, start, end, source.encode()[start:end].decode())


def _expected(statement: ast.stmt) -> Iterator[ast.expr]:
    """The one of two compared sides that is a literal, if the other is none."""
    match statement:
        case ast.Assert(test=ast.Compare(left=left, ops=[ast.Eq()], comparators=[right])):
            sides = [left, right]
        case ast.Expr(value=ast.Call(func=ast.Attribute(attr=name), args=[first, second, *_])) if name in EQUAL:
            sides = [first, second]
        case _:
            return
    said = [side for side in sides if _literal(side)]
    if len(said) == 1:
        yield said[0]


def _literal(node: ast.expr) -> bool:
    plain = node.operand if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) else node
    return isinstance(plain, ast.Constant) and type(plain.value) in (int, float, str)


def _may_end_early(function: Function) -> bool:
    inside = {
        part
        for node in ast.walk(function)
        if isinstance(node, Function | ast.Lambda) and node is not function
        for part in ast.walk(node)
    }
    ends = ast.Return | ast.Yield | ast.YieldFrom
    return any(isinstance(node, ends) and node not in inside for node in ast.walk(function))
