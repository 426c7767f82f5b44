"""What a Python test without an assertion could still fail by: whose functions it calls, by module.

A test that only calls the code under test asks nothing: it is red where that code blows up, whatever it answers. A call
of a helper, or of a library that checks something, may ask; which modules are the code under test, the tree tells.
"""

import ast
import builtins
import sys
from collections.abc import Iterable, Mapping

Function = ast.FunctionDef | ast.AsyncFunctionDef
HELPER = "."
"""Somebody whose words are not at hand: a helper of the file, a method of the test's class, a fixture."""
CHECKING = ("subprocess", "doctest", "json", "ast", "tomllib", "xml", "py_compile", "pickle")
"""Of the standard library: whoever calls these without a word more may want to know whether they go through."""
BUILTINS = frozenset(dir(builtins))


def imported(body: Iterable[ast.AST]) -> dict[str, str]:
    """Names and the modules that they come from."""
    found: dict[str, str] = {}
    for node in body:
        if isinstance(node, ast.Import):
            found |= {(alias.asname or alias.name).partition(".")[0]: alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            module = HELPER if node.level else node.module or HELPER
            found |= {alias.asname or alias.name: module for alias in node.names}
    return found


def asked_of(node: Function, live: Iterable[ast.AST], above: Mapping[str, str]) -> tuple[str, ...]:
    """Modules whose functions the live parts call, and HELPER where one is called that may hold an assertion."""
    parts = list(live)
    arguments = node.args
    given = {one.arg for one in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)}
    made = {part.id for part in parts if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)}
    made |= {each.id for part in ast.walk(node) if isinstance(part, ast.withitem | ast.For) for each in _targets(part)}
    names = {**above, **imported(ast.walk(node))}
    found = set()
    for part in parts:
        if isinstance(part, ast.Raise):
            found.add(HELPER)
        elif isinstance(part, ast.Call):
            root, direct = _root(part.func)
            if root in ("self", "cls") or (direct and root in given):
                found.add(HELPER)
            elif root in names:
                found.add(names[root])
            elif direct and root not in made and root not in BUILTINS:
                found.add(HELPER)
    return tuple(sorted(name for name in found if not _idle(name)))


def _targets(node: ast.withitem | ast.For) -> Iterable[ast.Name]:
    bound = node.optional_vars if isinstance(node, ast.withitem) else node.target
    return [part for part in ast.walk(bound) if isinstance(part, ast.Name)] if bound is not None else []


def _root(called: ast.expr) -> tuple[str, bool]:
    """The name at the far left of what is called, and whether that name itself is called."""
    direct = isinstance(called, ast.Name)
    while not isinstance(called, ast.Name):
        match called:
            case ast.Attribute(value=inner) | ast.Subscript(value=inner) | ast.Await(value=inner):
                called = inner
            case ast.Call(func=inner):
                called = inner
            case _:
                return "", False
    return called.id, direct


def _idle(module: str) -> bool:
    top = module.partition(".")[0]
    return top in sys.stdlib_module_names and top not in CHECKING
