"""Which constants a Python function could give back: by its annotation, by the types seen, by the shape of its returns.

None is tried only where nothing is known: a test that asks `is not None` would notice it, and nothing else.
"""

import ast
from collections.abc import Iterable, Iterator

from damascus.stacks.mutants.values import MutantAnswer, Values
from damascus.stacks.python.names import Names
from damascus.stacks.python.text import said

KINDS = frozenset(
    {"bool", "int", "float", "str", "bytes", "list", "dict", "set", "frozenset", "tuple"},
)


def answers(kind: str, values: Values) -> tuple[MutantAnswer, ...]:
    """Those that decide first; empty containers count as much as those that hold something."""
    word = repr(values.word)
    match kind:
        case "bool":
            return MutantAnswer("True"), MutantAnswer("False")
        case "int":
            return MutantAnswer(str(values.number)), MutantAnswer(f"-{values.below}", True), MutantAnswer("0", True)
        case "float":
            return MutantAnswer(str(values.real)), MutantAnswer(f"-{values.real + 1}", True), MutantAnswer("0.0", True)
        case "str":
            return (MutantAnswer(word),)
        case "bytes":
            return (MutantAnswer(f"b{word}"),)
        case "list":
            return MutantAnswer("[]"), MutantAnswer(f"[{word}]")
        case "dict":
            return MutantAnswer("{}"), MutantAnswer(f"{{{word}: {word}}}")
        case "tuple":
            return MutantAnswer("()"), MutantAnswer(f"({word},)")
    return MutantAnswer(f"{kind}()"), MutantAnswer(f"{kind}(({word},))")


ALIASES = {
    "List": "list",
    "Sequence": "list",
    "MutableSequence": "list",
    "Collection": "list",
    "Iterable": "list",
    "Dict": "dict",
    "Mapping": "dict",
    "MutableMapping": "dict",
    "Set": "set",
    "AbstractSet": "set",
    "FrozenSet": "frozenset",
    "Tuple": "tuple",
    "Text": "str",
}
WRAPPERS = frozenset({"Optional", "Final", "Annotated", "Awaitable", "Coroutine"})
CALLS = frozenset({"str", "int", "float", "bool", "bytes", "list", "dict", "set", "tuple", "frozenset"})
OF_BUILTINS = {"len": "int", "sum": "int", "sorted": "list", "any": "bool", "all": "bool", "isinstance": "bool"}
OF_METHODS = {
    "join": "str",
    "format": "str",
    "upper": "str",
    "lower": "str",
    "strip": "str",
    "replace": "str",
    "title": "str",
    "split": "list",
    "splitlines": "list",
    "encode": "bytes",
    "decode": "str",
    "startswith": "bool",
    "endswith": "bool",
}


def constants(
    annotation: ast.expr | None, returned: list[ast.expr], seen: Iterable[str], values: Values
) -> list[MutantAnswer]:
    """At least one; none that the function gives back as its only answer."""
    kinds = list(dict.fromkeys(_annotated(annotation))) or [kind for kind in dict.fromkeys(seen) if kind in KINDS]
    kinds = kinds or list(dict.fromkeys(_shapes(returned)))
    found = [answer for kind in kinds for answer in answers(kind, values)]
    own = {said(value) for value in returned}
    if len(own) == 1:
        found = [answer for answer in found if said(ast.parse(answer.text, mode="eval").body) not in own]
    if all(answer.half for answer in found):
        found = []
    return found or [MutantAnswer("None")]


def returns_nothing(annotation: ast.expr | None) -> bool:
    node = parsed_annotation(annotation)
    return isinstance(node, ast.Constant) and node.value is None


def never_returns(annotation: ast.expr | None, names: Names) -> bool:
    return names.is_typing(parsed_annotation(annotation), "NoReturn", "Never")


def parsed_annotation(annotation: ast.expr | None) -> ast.expr | None:
    if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
        try:
            return ast.parse(annotation.value.strip(), mode="eval").body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return None
    return annotation


def _annotated(annotation: ast.expr | None) -> list[str]:
    try:
        return list(_kinds_of(annotation))
    except RecursionError:
        return []


def _kinds_of(annotation: ast.expr | None) -> Iterator[str]:
    node = parsed_annotation(annotation)
    match node:
        case ast.Name() | ast.Attribute():
            kind = ALIASES.get(_name(node), _name(node))
            if kind in KINDS:
                yield kind
        case ast.Subscript(value=value, slice=inner):
            yield from _subscripted(value, inner.elts if isinstance(inner, ast.Tuple) else [inner])
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            yield from _kinds_of(left)
            yield from _kinds_of(right)


def _subscripted(value: ast.expr, inner: list[ast.expr]) -> Iterator[str]:
    match _name(value):
        case "Union":
            for one in inner:
                yield from _kinds_of(one)
        case "Literal":
            yield from _shapes(inner)
        case name if name in WRAPPERS:
            yield from _kinds_of(inner[-1 if name == "Coroutine" else 0])
        case _:
            yield from _kinds_of(value)


def _name(node: ast.expr | None) -> str:
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def _shapes(returned: Iterable[ast.expr]) -> Iterator[str]:
    for node in returned:
        try:
            kind = _shape(node)
        except RecursionError:
            continue
        if kind in KINDS:
            yield kind


DISPLAYS: dict[type, str] = {
    ast.JoinedStr: "str",
    ast.List: "list",
    ast.ListComp: "list",
    ast.Dict: "dict",
    ast.DictComp: "dict",
    ast.Set: "set",
    ast.SetComp: "set",
    ast.Tuple: "tuple",
    ast.Compare: "bool",
}


def _shape(node: ast.expr) -> str:
    match node:
        case ast.Constant(value=value):
            return type(value).__name__
        case ast.UnaryOp(op=op, operand=operand):
            return "bool" if isinstance(op, ast.Not) else _shape(operand)
        case ast.IfExp(body=body, orelse=other):
            return _shape(body) or _shape(other)
        case ast.Await(value=value):
            return _shape(value)
        case ast.BoolOp(values=values):
            kinds = {_shape(value) for value in values}
            return kinds.pop() if len(kinds) == 1 else ""
        case ast.BinOp(left=left, op=op, right=right):
            return _of_operator(_shape(left), op, _shape(right))
        case ast.Call(func=called):
            return _called(called)
    return DISPLAYS.get(type(node), "")


def _called(node: ast.expr) -> str:
    if isinstance(node, ast.Attribute):
        return OF_METHODS.get(node.attr, "")
    name = _name(node)
    return name if name in CALLS else OF_BUILTINS.get(name, "")


def _of_operator(left: str, op: ast.operator, right: str) -> str:
    if isinstance(op, ast.Div):
        return "float" if left != "" or right != "" else ""
    if isinstance(op, ast.Mod) and left in ("str", "bytes"):
        return left
    if isinstance(op, ast.Add):
        return left or right
    known = {left, right} - {""}
    if "float" in known:
        return "float"
    return "int" if known == {"int"} and not isinstance(op, ast.Mult) else ""
