"""Smells of Python code that is written for its test. They are told to the critic and to people, with the lines: an
`__eq__` that is always true, a function or a table whose answers are the very literals that the story's tests use, a
builtin that is replaced for everybody."""

import ast
from collections.abc import Iterable, Iterator

from damascus.domain.ports import Candidate
from damascus.evidence.diff_paths import is_test
from damascus.stacks.python.text import said

Def = ast.FunctionDef | ast.AsyncFunctionDef
COMMON: tuple[object, ...] = ("", 0, 1, 2, -1, True, False, None, 0.0, 1.0, 10, 100)
ENOUGH = 2


def suspicions(candidate: Candidate, paths: Iterable[str]) -> Iterator[str]:
    asked = {value for tree in _tests(candidate) for value in _literals(tree)}
    for path in paths:
        tree = _parsed(candidate.read(candidate.commit, path)) if path.endswith(".py") else None
        before = _parsed(candidate.read(candidate.base, path)) if tree else None
        old = {said(node) for node in ast.walk(before) if isinstance(node, Def)} if before else set()
        functions = [node for node in ast.walk(tree) if isinstance(node, Def)] if tree else []
        for node in sorted(functions, key=lambda one: one.lineno):
            if said(node) not in old:
                yield from _of(node, path, asked)
        known = {said(node) for node in before.body} if before else set()
        for statement in (one for one in tree.body if said(one) not in known) if tree else ():
            yield from _of_module(statement, path, asked)


def _of(node: Def, path: str, asked: set[object]) -> Iterator[str]:
    if node.name == "__eq__" and _always_true(node):
        yield f"suspicious: {path}:{node.lineno} __eq__ calls everything equal"
    answers = [value for value in _literals(node) if value in asked]
    if len(set(answers)) >= ENOUGH and len(set(answers)) == len(set(_literals(node))) and _a_table(node):
        yield f"suspicious: {path}:{node.lineno} {node.name} answers with the tests' own literals"


def _of_module(node: ast.stmt, path: str, asked: set[object]) -> Iterator[str]:
    for part in ast.walk(node):
        if isinstance(part, ast.Attribute) and isinstance(part.ctx, ast.Store) and _is_builtins(part.value):
            yield f"suspicious: {path}:{part.lineno} replaces builtins.{part.attr} for the whole process"
    table = node.value if isinstance(node, ast.Assign | ast.AnnAssign) else None
    if isinstance(table, ast.Dict) and len(table.keys) >= ENOUGH and set(_literals(table)) <= asked and _plain(table):
        yield f"suspicious: {path}:{node.lineno} a table of the tests' own questions and answers"


def _is_builtins(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id in ("builtins", "__builtins__")


def _plain(table: ast.Dict) -> bool:
    """Keys and values are literals, and some of them are none that stand in every program."""
    parts = [*table.keys, *table.values]
    return all(isinstance(part, ast.Constant) for part in parts) and bool(_literals(table))


def _always_true(node: Def) -> bool:
    """It returns True, or only whether the types agree."""
    returned = [part.value for part in ast.walk(node) if isinstance(part, ast.Return)]
    return bool(returned) and all(_says_nothing(value) for value in returned)


def _says_nothing(value: ast.expr | None) -> bool:
    match value:
        case ast.Constant(value=True) | ast.Name(id="NotImplemented"):
            return True
        case ast.Call(func=ast.Name(id="isinstance")):
            return True
        case ast.Compare(left=ast.Call(func=ast.Name(id="type")), comparators=[ast.Call(func=ast.Name(id="type"))]):
            return True
    return False


def _a_table(node: Def) -> bool:
    """Every answer is a literal: a chain of ifs, a dictionary, a match."""
    returned = [part.value for part in ast.walk(node) if isinstance(part, ast.Return) and part.value is not None]
    plain = ast.Constant | ast.Subscript | ast.Call | ast.Dict
    return bool(returned) and all(isinstance(value, plain) for value in returned)


def _tests(candidate: Candidate) -> Iterator[ast.Module]:
    for file in candidate.changed:
        if file.status != "D" and file.path.endswith(".py") and is_test(candidate, file.path):
            tree = _parsed(candidate.read(candidate.commit, file.path))
            if tree is not None:
                yield tree


def _literals(tree: ast.AST) -> list[object]:
    found = [node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)]
    return [value for value in found if value not in COMMON and isinstance(value, str | int | float | bytes)]


def _parsed(source: bytes | None) -> ast.Module | None:
    try:
        return ast.parse(source or b"")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
