"""Operators of ours for Python: where mutmut is not there, and on lines of which it makes no mutant.

Arithmetic, comparison, boolean, constants, what is returned, negated conditions, removed statements. An expression is
changed behind a condition that only running works out, with the original beside it: whoever looks for words in the
source finds them still.
"""

import ast
import copy
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import lru_cache

from damascus.stacks.mutants.function import Edit
from damascus.stacks.mutants.lines import LineMutant, in_words
from damascus.stacks.mutants.values import same
from damascus.stacks.python.functions import TALK
from damascus.stacks.python.text import Text, decoded, parsed

OURS = "our own operators"
Node = ast.expr | ast.stmt
ASKED_ALREADY = (ast.Compare, ast.BoolOp, ast.UnaryOp, ast.Constant)
"""Conditions that have mutants of their own."""
BINARY: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
    ast.Pow: ast.Mult,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.BitXor: ast.BitAnd,
}
COMPARED: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}
APART = (ast.JoinedStr, ast.pattern, ast.Raise, ast.Import, ast.ImportFrom)
"""Not looked into: positions of an f-string's parts are not those of the text, patterns are no expressions, and what an
error says is for people."""


def line_mutants(source: bytes, path: str, lines: Collection[int]) -> list[LineMutant]:
    """Those of the changed lines. Raises ValueError for what can't be parsed."""
    text, _ = decoded(source)
    whole = Text.of(text.encode())
    found = []
    for node, above in told_nodes(parsed(text)):
        for target, new in _others(node):
            touched = range(target.lineno, (target.end_lineno or target.lineno) + 1)
            here = [line for line in touched if line in lines]
            if here:
                inside = isinstance(above, ast.expr) and isinstance(target, ast.expr) and " " in new
                edit = Edit(*whole.span(target), f"({new})" if inside else new)
                run = switched(source, path, edit)
                found.append(LineMutant(path, here[0], in_words(whole.words(target), new), OURS, edit, run))
    return found


def told_nodes(tree: ast.AST) -> Iterator[tuple[Node, ast.AST]]:
    """Statements and expressions that do something, with what they are part of: no annotation, docstring, decorator,
    and nothing that only tells somebody something."""
    stack: list[tuple[ast.AST, ast.AST]] = [(tree, tree)]
    while stack:
        node, above = stack.pop()
        if isinstance(node, Node):
            yield node, above
        stack += [(one, node) for one in reversed(_below(node)) if not isinstance(one, APART) and not talks(one)]


def _below(node: ast.AST) -> list[ast.AST]:
    left_out: list[ast.AST | None] = []
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            left_out = [node.returns, *node.decorator_list]
        case ast.ClassDef():
            left_out = [*node.decorator_list, *node.bases]
        case ast.arg() | ast.AnnAssign():
            left_out = [node.annotation]
    out = {id(one) for one in left_out}
    return [
        one
        for one in ast.iter_child_nodes(node)
        if id(one) not in out and not (isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant))
    ]


def talks(node: ast.AST) -> bool:
    """print, a logger, a warning."""
    called = node.value.func if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) else None
    name = called.attr if isinstance(called, ast.Attribute) else called.id if isinstance(called, ast.Name) else ""
    return name in TALK


def _others(node: Node) -> Iterator[tuple[Node, str]]:
    """What may stand in its place, or in that of its condition."""
    if isinstance(node, ast.expr):
        yield from ((node, new) for new in _expressions(node))
    match node:
        case ast.If(test=test) | ast.While(test=test) | ast.IfExp(test=test) if not isinstance(test, ASKED_ALREADY):
            yield test, f"not {ast.unparse(test)}"
        case ast.AugAssign(op=op) if type(op) in BINARY:
            yield node, _with(node, "op", BINARY[type(op)]())
        case ast.Return(value=ast.expr() as value) if not (isinstance(value, ast.Constant) and value.value is None):
            yield value, "None"
        case ast.Expr(value=ast.Call() | ast.Await()) | ast.Delete():
            yield node, "pass"
        case ast.Break():
            yield node, "continue"
        case ast.Continue():
            yield node, "break"


def _expressions(node: ast.expr) -> Iterator[str]:
    match node:
        case ast.BinOp(op=op) if type(op) in BINARY:
            yield _with(node, "op", BINARY[type(op)]())
        case ast.BoolOp(op=op):
            yield _with(node, "op", ast.Or() if isinstance(op, ast.And) else ast.And())
        case ast.Compare(ops=ops):
            for number, one in enumerate(ops):
                for other in COMPARED[type(one)]:
                    yield _with(node, "ops", [*ops[:number], other(), *ops[number + 1 :]])
        case ast.UnaryOp(op=ast.Not() | ast.USub() | ast.Invert(), operand=operand):
            yield ast.unparse(operand)
        case ast.Constant(value=value):
            yield from _constants(value)


def _constants(value: object) -> Iterator[str]:
    match value:
        case bool():
            yield str(not value)
        case int() | float():
            yield repr(value + 1)
        case str():
            yield repr(f"XX{value}XX")
        case bytes():
            yield repr(b"XX" + value)


def _with(node: ast.AST, name: str, value: object) -> str:
    other = copy.copy(node)
    setattr(other, name, value)
    return ast.unparse(other)


@dataclass(frozen=True)
class _Whole:
    """A source in UTF-8, where an expression stands that is read and may be any other, and where anything stands that
    does something."""

    text: bytes
    read: tuple[tuple[int, int], ...]
    done: tuple[tuple[int, int], ...]


@lru_cache(maxsize=16)
def _whole(source: bytes) -> _Whole:
    text, _ = decoded(source)
    whole = Text.of(text.encode())
    nodes = [node for node, _ in told_nodes(parsed(text))]
    read = [one for one in nodes if isinstance(one, ast.expr) and not isinstance(one, ast.Starred | ast.Slice)]
    read = [one for one in read if isinstance(getattr(one, "ctx", ast.Load()), ast.Load)]
    done = [one for one in nodes if not isinstance(getattr(one, "body", None), list)]
    return _Whole(whole.source, *(tuple(map(whole.span, some)) for some in (read, done)))


def switched(source: bytes, path: str, edit: Edit) -> Edit:
    """In an expression that is read: `(new if [1] == [1] else old)`. Anything else is put in place."""
    whole = _whole(source)
    around = [span for span in whole.read if span[0] <= edit.start and edit.end <= span[1]]
    if not around:
        return edit
    start, end = min(around, key=lambda span: span[1] - span[0])
    old = whole.text[start:end].decode()
    new = (whole.text[start : edit.start] + edit.text.encode() + whole.text[edit.end : end]).decode()
    both = f"(({new}) if {same(True)} else ({old}))"
    try:
        ast.parse((whole.text[:start] + both.encode() + whole.text[end:]).decode())
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return edit
    return Edit(start, end, both)


def worth_it(source: bytes, path: str, edit: Edit) -> bool:
    """Not what only tells somebody something: the words of an error, a log line, a docstring. Honest tests do not ask
    for them, and a tool makes three mutants of each."""
    return any(start <= edit.start and edit.end <= end for start, end in _whole(source).done)
