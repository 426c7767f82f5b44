"""What of a Python source lies outside of any function, and a mutant for each part of it where one can be made.

A constant gets another value of its type, any other value becomes None, a field or a call goes, a class loses its bases
and decorators. These never judge a function; they tell whether the test of a requirement needs such a part.
"""

import ast
from collections.abc import Iterator

from damascus.stacks.mutants.function import Edit, OutsidePart
from damascus.stacks.mutants.values import Values
from damascus.stacks.python.text import Text, decoded, own, parsed, said

NOT_COUNTED = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Import, ast.ImportFrom, ast.Pass)
SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
LITERALS = 3
KINDS = (str, bytes, int, float)
AT_RUN_TIME = frozenset({"exec", "eval", "FunctionType", "CodeType", "run_path", "run_module", "exec_module"})
BY_NAME_ALONE = frozenset({"compile", "__import__"})
"""`re.compile` is another thing."""


def parts_outside(source: bytes, values: Values) -> list[OutsidePart]:
    """Raises ValueError for what can't be parsed."""
    text, _ = decoded(source)
    return list(_parts(parsed(text).body, Text.of(text.encode()), values))


def _parts(body: list[ast.stmt], text: Text, values: Values) -> Iterator[OutsidePart]:
    for node in body:
        match node:
            case ast.Expr(value=ast.Constant()) | ast.Assign(value=ast.Lambda()) | ast.AnnAssign(value=ast.Lambda()):
                continue
            case ast.Assign(targets=[ast.Name(id="__all__")]) | ast.If(test=ast.Compare(left=ast.Name(id="__name__"))):
                continue
            case ast.ClassDef():
                yield from _class(node, text, values)
            case ast.stmt() if not isinstance(node, NOT_COUNTED):
                yield _statement(node, text, values)


def _class(node: ast.ClassDef, text: Text, values: Values) -> Iterator[OutsidePart]:
    heads = [*node.bases, *(word.value for word in node.keywords)]
    if heads or node.decorator_list:
        told = [said(one) for one in (*heads, *node.decorator_list)]
        edits = tuple(_bare_class(node, text))
        yield OutsidePart(
            f"class {node.name} {told}", f"class {node.name}", edits, node.lineno, any(map(_hides, heads))
        )
    yield from _parts(node.body, text, values)


def _bare_class(node: ast.ClassDef, text: Text) -> Iterator[Edit]:
    if node.bases and not node.keywords:
        yield Edit(text.span(node.bases[0])[0], text.span(node.bases[-1])[1], "")
    for one in node.decorator_list:
        start, end = text.span(one)
        yield Edit(start - 1, end, "")


def _statement(node: ast.stmt, text: Text, values: Values) -> OutsidePart:
    told, hides = said(node), _hides(node)
    first = text.words(node).partition("\n")[0].strip()[:60]
    match node:
        case ast.Assign(value=value) | ast.AnnAssign(value=ast.expr() as value):
            name = text.words(node.targets[0] if isinstance(node, ast.Assign) else node.target)
            literals = list(_literals(value))[:LITERALS]
            edits = [Edit(*text.span(one), _other(one, values)) for one in literals]
            return OutsidePart(told, name, tuple(edits or [Edit(*text.span(value), "None")]), node.lineno, hides)
        case ast.AnnAssign() | ast.Expr():
            return OutsidePart(told, first, (Edit(*text.span(node), "pass"),), node.lineno, hides)
    return OutsidePart(told, first, (), node.lineno, hides)


def _hides(node: ast.AST) -> bool:
    for one in (node, *own(node, SCOPES)):
        match one:
            case ast.Call(func=ast.Name(id=name)) if name in AT_RUN_TIME | BY_NAME_ALONE:
                return True
            case ast.Call(func=ast.Attribute(attr=name)) if name in AT_RUN_TIME:
                return True
    return False


def _other(node: ast.Constant, values: Values) -> str:
    match node.value:
        case bool():
            return str(not node.value)
        case int():
            return str(values.number)
        case float():
            return str(values.real)
    return repr(values.word) if isinstance(node.value, str) else f"b{values.word!r}"


def _literals(node: ast.AST) -> Iterator[ast.Constant]:
    """Not the parts of an f-string: their positions are not those of the text."""
    apart = () if isinstance(node, ast.JoinedStr) else own(node, (ast.JoinedStr,))
    for one in (node, *apart):
        if isinstance(one, ast.Constant) and isinstance(one.value, KINDS):
            yield one
