"""One tree of errors: what is told apart is told apart by its class, never by the name of one."""

import ast
from collections.abc import Iterator

from damascus.stacks import REGISTRY
from tests.rules.tree import sources

NAMES = {"__name__", "__qualname__", "__module__"}
OTHERS = ("stacks/runners/", "stacks/python/probe/", *(f"stacks/{name}/runner/" for name in REGISTRY))
"""They run inside the project's own test run, where classes are not ours to import."""


def told_apart_by_name(text: str) -> Iterator[str]:
    """Comparisons and searches in the name of something's type."""
    for node in ast.walk(ast.parse(text)):
        match node:
            case ast.Compare(left=left, comparators=right):
                looked_at = [left, *right]
            case ast.Call(func=ast.Attribute(value=value, attr="startswith" | "endswith" | "find" | "__eq__")):
                looked_at = [value]
            case ast.Match(subject=subject):
                looked_at = [subject]
            case _:
                continue
        if any(is_name_of_type(part) for one in looked_at for part in ast.walk(one)):
            yield ast.unparse(node)


def is_name_of_type(node: ast.AST) -> bool:
    match node:
        case ast.Attribute(value=ast.Call(func=ast.Name(id="type")), attr=name):
            return name in NAMES
        case ast.Attribute(value=ast.Attribute(attr="__class__"), attr=name):
            return name in NAMES
    return False


def test_no_type_is_told_apart_by_its_name() -> None:
    found = {name: list(told_apart_by_name(text)) for name, text in sources().items() if not name.startswith(OTHERS)}
    assert {name: where for name, where in found.items() if where} == {}


def test_the_rule_sees_what_it_forbids() -> None:
    for text in (
        "type(err).__name__ == 'GitError'",
        "'GitError' in (type(err).__name__, 'x')",
        "type(err).__module__.startswith('psycopg')",
        "err.__class__.__name__ != 'X'",
        "match type(err).__name__:\n    case 'X': pass",
    ):
        assert list(told_apart_by_name(text)), text
    assert not list(told_apart_by_name("print(f'{type(err).__name__}: {err}')"))
