"""The functions of a Python source and their mutants. The skip list is told in docs/VERIFICATION.md."""

import ast
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass

from damascus.stacks.mutants.function import AT_ONCE, RESHAPED, Edit, Function, Gives, Mutant
from damascus.stacks.mutants.values import MutantAnswer, Values, same
from damascus.stacks.python.answers import constants, never_returns, returns_nothing
from damascus.stacks.python.late import as_it_was, late, only_answers, reshaped
from damascus.stacks.python.names import Names
from damascus.stacks.python.text import Text, blocks, decoded, own, parsed, said

Def = ast.FunctionDef | ast.AsyncFunctionDef
Named = ast.Assign | ast.AnnAssign
SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
SOFT = frozenset(
    {"__repr__", "__hash__", "__del__", "__exit__", "__aexit__", "__sizeof__", "__dir__", "__getstate__"}
    | {"__setstate__", "__init_subclass__", "__reduce__"}
)
TALK = frozenset(
    {"print", "warn", "debug", "info", "warning", "error", "exception", "critical", "log", "echo", "write"}
)
Late = Callable[[str, str], Edit]
UNWRITTEN = f"{NotImplemented!r}Error"
Seen = Mapping[int, Collection[str]]
"""Names of the types that a function gave back, by its first line, where a probe has seen that."""


@dataclass(frozen=True)
class FunctionSource:
    path: str
    text: Text
    names: Names
    values: Values
    seen: Seen


@dataclass(frozen=True)
class FunctionPlace:
    """The classes around a function; `unbound`: what is defined there is for type checkers or for subclasses."""

    prefix: str = ""
    unbound: bool = False


def functions(source: bytes, path: str, values: Values, seen: Seen | None = None) -> list[Function]:
    """Raises ValueError for what this Python can't parse."""
    text, encoding = decoded(source)
    if text.encode(encoding).decode(encoding) != text:
        raise ValueError(f"{encoding} can't be written back")
    tree = parsed(text)
    whole = FunctionSource(path, Text.of(text.encode()), Names.of(tree), values, seen or {})
    found = []
    for node, place in _outermost(tree.body, FunctionPlace(), whole.names):
        made = _function(node, place, whole) if isinstance(node, Def) else _lambda(node, place, whole)
        if made is not None:
            found.append(made)
    return found


def _outermost(body: list[ast.stmt], place: FunctionPlace, names: Names) -> Iterator[tuple[Def | Named, FunctionPlace]]:
    """Functions and lambdas with a name; what lies inside of a function is part of it."""
    stack = [(node, place) for node in reversed(body)]
    while stack:
        node, place = stack.pop()
        inner: list[list[ast.stmt]] = []
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.Assign() | ast.AnnAssign():
                yield node, place
            case ast.ClassDef(name=name, bases=bases):
                protocol = any(names.is_typing(base, "Protocol") for base in bases)
                place = FunctionPlace(f"{place.prefix}{name}.", place.unbound or protocol)
                inner = [node.body]
            case ast.If(test=test) if names.is_typing(test, "TYPE_CHECKING"):
                inner = [node.orelse]
            case _:
                inner = blocks(node)
        stack += [(one, place) for block in reversed(inner) for one in reversed(block)]


def first_line(node: Def) -> int:
    """As a code object has it: the first decorator's."""
    return min([node.lineno, *(one.lineno for one in node.decorator_list)])


def _function(node: Def, place: FunctionPlace, source: FunctionSource) -> Function | None:
    names, values = source.names, source.values
    body = _without_docstring(node.body)
    if not body or all(_stub(one, names) for one in body):
        return None
    inside = list(own(node, SCOPES))
    seen = source.seen.get(first_line(node), ())
    gives = _gives(node, inside, seen)
    if never_returns(node.returns, names) and gives == "void":
        return None
    put = _placed(node, body, source.text)
    answers = _answers(node, gives, inside, seen, values)
    only = only_answers(body, list(own(node, ())), names)
    marked = any(names.is_typing(one, "overload") or names.is_abstract(one) for one in node.decorator_list)
    raises = f"raise RuntimeError({values.word!r})"
    wild = f"raise type({values.word.capitalize()!r}, (BaseException,), {{}})({values.word!r})"
    return Function(
        path=source.path,
        name=f"{place.prefix}{node.name}",
        line=node.lineno,
        last_line=node.end_lineno or node.lineno,
        first_line=first_line(node),
        gives=gives,
        soft=marked or place.unbound or _soft(node, body, gives, inside),
        body=_fingerprint(node, body),
        mutants=(
            *_answering(answers, put, late(inside, source.text) if gives == "value" else None, only),
            Mutant("raise", put(f"if {same(True)}: {raises}")),
        ),
        control=put(f"if {same(False)}: {answers[0].text}"),
        also_control=_late_control(inside, source.text, answers[0]) if gives == "value" else (),
        blow_up=Mutant("raise BaseException", put(f"if {same(True)}: {wild}")),
        reshaped=Mutant(RESHAPED, other) if gives == "value" and (other := reshaped(inside, source.text)) else None,
    )


def _late_control(inside: list[ast.AST], text: Text, answer: MutantAnswer) -> tuple[Edit, ...]:
    return as_it_was(inside, text, answer.text.removeprefix("return "), same(False))


def _answering(
    answers: list[MutantAnswer], put: Callable[[str], Edit], late: Late | None, only: bool
) -> Iterator[Mutant]:
    """Where it returns something: behind its work, and, unless it does nothing else, instead of it."""
    if late is None:
        yield from (Mutant(one.text, put(f"if {same(True)}: {one.text}"), one.half) for one in answers)
        return
    for one in answers:
        yield Mutant(one.text, late(one.text.removeprefix("return "), same(True)), one.half)
    for one in () if only else answers:
        yield Mutant(f"{one.text}{AT_ONCE}", put(f"if {same(True)}: {one.text}"), one.half)


def _answers(
    node: Def, gives: Gives, inside: list[ast.AST], seen: Collection[str], values: Values
) -> list[MutantAnswer]:
    if gives == "generator":
        return [MutantAnswer("return")]
    if gives == "void":
        return [MutantAnswer("return None")]
    found = constants(node.returns, _returned(inside), seen, values)
    return [MutantAnswer(f"return {one.text}", one.half) for one in found]


def _gives(node: Def, inside: list[ast.AST], seen: Collection[str]) -> Gives:
    """An annotation is believed where nothing else was seen."""
    if any(isinstance(part, ast.Yield | ast.YieldFrom) for part in inside):
        return "generator"
    if all(_is_none(value) for value in _returned(inside)):
        return "void"
    return "void" if returns_nothing(node.returns) and set(seen) <= {"NoneType"} else "value"


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _without_docstring(body: list[ast.stmt]) -> list[ast.stmt]:
    match body:
        case [ast.Expr(value=ast.Constant(value=str())), *rest]:
            return rest
    return body


def _stub(node: ast.stmt, names: Names) -> bool:
    match node:
        case ast.Pass() | ast.Expr(value=ast.Constant()):
            return True
        case ast.Raise(exc=ast.Name(id=name) | ast.Call(func=ast.Name(id=name))):
            return name == UNWRITTEN
        case ast.Return(value=None | ast.Constant(value=None)):
            return True
        case ast.Return(value=value):
            return names.builtin(value, "NotImplemented")
    return False


def _soft(node: Def, body: list[ast.stmt], gives: Gives, inside: list[ast.AST]) -> bool:
    if node.name in SOFT or all(map(_talk, body)):
        return True
    if node.name == "main" and gives == "value":
        return all(isinstance(value, ast.Constant) for value in _returned(inside))
    match body:
        case [ast.Return(value=ast.Constant() | ast.Attribute(value=ast.Name(id="self" | "cls")))]:
            return True
    return False


def _returned(inside: list[ast.AST]) -> list[ast.expr]:
    return [part.value for part in inside if isinstance(part, ast.Return) and part.value is not None]


def _talk(node: ast.stmt) -> bool:
    """A call that tells somebody something: print, a logger, a warning."""
    called = node.value.func if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) else None
    if isinstance(called, ast.Attribute):
        return called.attr in TALK
    return isinstance(called, ast.Name) and called.id in TALK


def _fingerprint(node: Def, body: list[ast.stmt]) -> str:
    """What it does, without name, docstring and annotations."""
    parts: list[ast.AST] = [node.args, *node.decorator_list, *body]
    return " ".join([type(node).__name__, str(len(body)), *(said(part, bare=True) for part in parts)])


# ── where an edit goes ────────────────────────────────────────────────────────────────────────────────


def _placed(node: Def, body: list[ast.stmt], text: Text) -> Callable[[str], Edit]:
    """A line of its own in front of the first statement, behind the docstring."""
    first = body[0]
    line = min([first.lineno, *(one.lineno for one in getattr(first, "decorator_list", []))])
    start, at = text.at(line, 0), text.at(line, first.col_offset)
    continued = text.source[:start].rstrip(b"\r\n").endswith(b"\\")
    if not text.source[start:at].strip() and not continued:
        indent = text.source[start:at].decode()
        return lambda words: Edit(start, start, f"{indent}{words}\n")
    if len(body) < len(node.body):
        return _behind_docstring(node, node.body[0], at, text)
    inner = f"{_indent(node, text)} "
    return lambda words: Edit(at, at, f"\n{inner}{words}\n{inner}")


def _behind_docstring(node: Def, docstring: ast.stmt, at: int, text: Text) -> Callable[[str], Edit]:
    """Docstring and first statement share a line, maybe with the `def`."""
    start, _ = text.span(docstring)
    before = text.source[text.at(docstring.lineno, 0) : start]
    if not before.strip():
        indent = before.decode()
        return lambda words: Edit(at, at, f"\n{indent}{words}\n{indent}")
    inner = f"{_indent(node, text)} "
    return lambda words: Edit(start, at, f"\n{inner}{text.words(docstring)}\n{inner}{words}\n{inner}")


def _indent(node: Def, text: Text) -> str:
    return text.source[text.at(node.lineno, 0) : text.at(node.lineno, node.col_offset)].decode()


def _lambda(node: Named, place: FunctionPlace, source: FunctionSource) -> Function | None:
    """`twice = lambda n: 2 * n`, with or without an annotation: its expression is the body."""
    target = node.target if isinstance(node, ast.AnnAssign) else node.targets[0]
    made, text, values = node.value, source.text, source.values
    if not isinstance(made, ast.Lambda):
        return None
    body = made.body
    start, end = text.span(body)
    as_it_was = text.source[start:end].decode()

    def instead(words: str, holds: bool = True) -> Edit:
        return Edit(start, end, f"({words} if {same(holds)} else ({as_it_was}))")

    answers = constants(None, [body], source.seen.get(made.lineno, ()), values)
    raises = f"(_ for _ in ()).throw(RuntimeError({values.word!r}))"
    return Function(
        path=source.path,
        name=f"{place.prefix}{text.words(target)}",
        line=node.lineno,
        last_line=node.end_lineno or node.lineno,
        first_line=made.lineno,
        gives="value",
        soft=isinstance(body, ast.Constant) or place.unbound,
        body=said(made),
        mutants=(
            *(Mutant(f"return {one.text}", instead(one.text), one.half) for one in answers),
            Mutant("raise", instead(raises)),
        ),
        control=instead(answers[0].text, False),
    )
