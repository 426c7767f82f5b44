"""What of a Python source lies outside of any function, and a mutant for each part of it where one can be made.

A constant gets another value of its type, any other value becomes None, a field or a call goes, a class loses its bases
and decorators. These never judge a function; they tell whether the test of a requirement needs such a part.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from damascus.stacks.mutants.function import Edit
from damascus.stacks.mutants.python_functions import Text

OTHER: dict[type, str] = {str: "'damascus'", bytes: "b'damascus'", int: "7919", float: "7919.5"}
NOT_COUNTED = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Import, ast.ImportFrom, ast.Pass)
LITERALS = 3


@dataclass(frozen=True)
class Part:
    """One statement, or the head of a class. `text` is what it says, wherever it stands; no edits: none is known."""

    text: str
    name: str
    edits: tuple[Edit, ...] = ()


def parts_outside(source: bytes) -> list[Part]:
    """Raises ValueError for what can't be parsed."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, RecursionError, MemoryError) as err:
        raise ValueError(str(err)) from err
    return list(_parts(tree.body, Text.of(source)))


def _parts(body: list[ast.stmt], text: Text) -> Iterator[Part]:
    for node in body:
        match node:
            case ast.Expr(value=ast.Constant()) | ast.Assign(value=ast.Lambda()):
                continue
            case ast.Assign(targets=[ast.Name(id="__all__")]) | ast.If(test=ast.Compare(left=ast.Name(id="__name__"))):
                continue
            case ast.ClassDef():
                yield from _class(node, text)
            case ast.stmt() if not isinstance(node, NOT_COUNTED):
                yield _statement(node, text)


def _class(node: ast.ClassDef, text: Text) -> Iterator[Part]:
    heads = [*node.bases, *(word.value for word in node.keywords)]
    if heads or node.decorator_list:
        said = [ast.dump(one) for one in (*heads, *node.decorator_list)]
        yield Part(f"class {node.name} {said}", f"class {node.name}", tuple(_bare_class(node, text)))
    yield from _parts(node.body, text)


def _bare_class(node: ast.ClassDef, text: Text) -> Iterator[Edit]:
    if node.bases and not node.keywords:
        start, last = text.at(node.bases[0].lineno, node.bases[0].col_offset), node.bases[-1]
        yield Edit(start, text.at(last.end_lineno or last.lineno, last.end_col_offset or 0), "")
    for one in node.decorator_list:
        at = text.at(one.lineno, one.col_offset)
        yield Edit(at - 1, text.at(one.end_lineno or one.lineno, one.end_col_offset or 0), "")


def _statement(node: ast.stmt, text: Text) -> Part:
    said = ast.dump(node)
    match node:
        case ast.Assign(value=value) | ast.AnnAssign(value=ast.expr() as value):
            name = ast.unparse(node.targets[0] if isinstance(node, ast.Assign) else node.target)
            literals = list(_literals(value))[:LITERALS]
            edits = [_instead(one, text, _other(one)) for one in literals] or [_instead(value, text, "None")]
            return Part(said, name, tuple(edits))
        case ast.AnnAssign() | ast.Expr():
            return Part(said, ast.unparse(node)[:60], (_instead(node, text, "pass"),))
    return Part(said, ast.unparse(node).partition("\n")[0][:60])


def _instead(node: ast.expr | ast.stmt, text: Text, words: str) -> Edit:
    start = text.at(node.lineno, node.col_offset)
    return Edit(start, text.at(node.end_lineno or node.lineno, node.end_col_offset or 0), words)


def _other(node: ast.Constant) -> str:
    return str(not node.value) if isinstance(node.value, bool) else OTHER[type(node.value)]


def _literals(node: ast.AST) -> Iterator[ast.Constant]:
    """Not the parts of an f-string: their positions are not those of the text."""
    if isinstance(node, ast.Constant) and (isinstance(node.value, bool) or type(node.value) in OTHER):
        yield node
    elif not isinstance(node, ast.JoinedStr):
        for child in ast.iter_child_nodes(node):
            yield from _literals(child)
