"""Answers that are changed after a Python function has worked them out.

A test that only asks whether the code ran (its lines, its calls, its time, what it did to its arguments) notices a body
that is gone. It does not notice another answer.
"""

import ast
from collections.abc import Callable

from damascus.stacks.mutants.function import Edit
from damascus.stacks.python.names import Names
from damascus.stacks.python.text import Text

HARMLESS = frozenset(
    {"abs", "all", "any", "bool", "bytes", "chr", "dict", "divmod", "enumerate", "float", "frozenset", "int", "len"}
    | {"isinstance", "list", "max", "min", "ord", "pow", "range", "repr", "reversed", "round", "set", "sorted", "str"}
    | {"sum", "tuple", "zip"}
)
DOES_SOMETHING = (
    *(ast.Await, ast.Global, ast.Nonlocal, ast.Delete, ast.Import, ast.ImportFrom, ast.Raise, ast.Assert, ast.Try),
    *(ast.With, ast.AsyncWith, ast.AsyncFor, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda),
)


def late(inside: list[ast.AST], text: Text) -> Callable[[str, str], Edit] | None:
    """The edit for a constant and a condition; None where nothing is returned. Lines stay where they are."""
    returned = [part.value for part in inside if isinstance(part, ast.Return) and part.value is not None]
    if not returned:
        return None
    spans = sorted(text.span(value) for value in returned)
    first, last = spans[0][0], spans[-1][1]

    def edit(constant: str, condition: str) -> Edit:
        pieces, at = [], first
        for start, end in spans:
            pieces += [text.source[at:start], b"((" + text.source[start:end] + f"), {constant})[{condition}]".encode()]
            at = end
        return Edit(first, last, b"".join(pieces).decode())

    return edit


def reshaped(inside: list[ast.AST], text: Text) -> Edit | None:
    """Each answer with the same shape and other values: as many items, the same keys, a function that answers something
    else. For tests that were only seen to break over an answer of another shape."""
    spans = sorted(text.span(part.value) for part in inside if isinstance(part, ast.Return) and part.value is not None)
    if not spans:
        return None
    pieces, at = [], spans[0][0]
    for start, end in spans:
        pieces += [text.source[at:start], OTHER_VALUES.encode() + b"(" + text.source[start:end] + b"))"]
        at = end
    return Edit(spans[0][0], at, b"".join(pieces).decode())


OTHER_VALUES = (
    "(lambda o: lambda v: o(o, v))(lambda o, v: (not v) if isinstance(v, bool) else v + 7919 if type(v) is int else "
    "v * 1.37 + 11.5 if type(v) is float else "
    "(lambda at: v + 'q' if at is None else v[:at] + chr(ord(v[at]) + (-1 if v[at] in '9zZ' else 1)) + v[at + 1:])"
    "(next((n for n, c in enumerate(v) if c.isascii() and c.isalnum()), None)) if type(v) is str else "
    "[o(o, x) for x in v] if type(v) is list and v else tuple(o(o, x) for x in v) if type(v) is tuple and v else "
    "{x: o(o, v[x]) for x in v} if type(v) is dict and v else "
    "(lambda *a, **k: o(o, v(*a, **k))) if type(v) is type(lambda: 0) else "
    "(_ for _ in ()).throw(ArithmeticError('nothing to change')))("
)
"""An expression that waits for an answer. What has no other value that we know of blows up: that says nothing."""


def as_it_was(inside: list[ast.AST], text: Text, constant: str, condition: str) -> tuple[Edit, ...]:
    """For the control: the same words around each answer, with a condition under which it stays what it is. Whoever
    looks at the source's words instead of the answer notices that too."""
    returned = [part.value for part in inside if isinstance(part, ast.Return) and part.value is not None]
    spans = [text.span(value) for value in returned]
    return tuple(
        edit
        for start, end in spans
        for edit in (Edit(start, start, "(("), Edit(end, end, f"), {constant})[{condition}]"))
    )


def only_answers(body: list[ast.stmt], inside: list[ast.AST], names: Names) -> bool:
    """Does it do nothing but work out an answer, on every way to its end?"""
    return _returns(body[-1]) and not any(_does_something(part, names) for part in inside)


def _returns(last: ast.stmt) -> bool:
    while isinstance(last, ast.If) and last.orelse and isinstance(last.body[-1], ast.Return):
        last = last.orelse[-1]
    return isinstance(last, ast.Return) and last.value is not None


def _does_something(part: ast.AST, names: Names) -> bool:
    match part:
        case ast.Call(func=ast.Name(id=name) as called):
            return name not in HARMLESS or not names.builtin(called, name)
        case ast.Call():
            return True
        case ast.Attribute(ctx=ast.Store() | ast.Del()) | ast.Subscript(ctx=ast.Store() | ast.Del()):
            return True
        case ast.Return(value=None):
            return True
    return isinstance(part, DOES_SOMETHING)
