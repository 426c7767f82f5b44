"""The functions of a Python source and their mutants. The skip list is told in docs/VERIFICATION.md."""

import ast
import copy
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass

from damascus.stacks.mutants.function import Edit, Function, Gives, Mutant
from damascus.stacks.mutants.python_answers import constants, never_returns, returns_nothing

Def = ast.FunctionDef | ast.AsyncFunctionDef
SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
STUBS = frozenset({"overload", "abstractmethod", "abstractproperty", "abstractclassmethod"})
SOFT = frozenset(
    {"__repr__", "__hash__", "__del__", "__exit__", "__aexit__", "__sizeof__", "__dir__", "__getstate__"}
    | {"__setstate__", "__init_subclass__", "__reduce__"}
)
TALK = frozenset(
    {"print", "warn", "debug", "info", "warning", "error", "exception", "critical", "log", "echo", "write"}
)
RAISE = "raise RuntimeError('damascus')"
BLOW_UP = "raise type('Damascus', (BaseException,), {})('damascus')"
UNWRITTEN = f"{NotImplemented!r}Error"
Seen = Mapping[int, Collection[str]]
"""Names of the types that a function gave back, by its first line, where a probe has seen that."""


@dataclass(frozen=True)
class Text:
    """A source with the offsets of its lines; syntax trees count columns in bytes."""

    source: bytes
    starts: tuple[int, ...]

    @classmethod
    def of(cls, source: bytes) -> "Text":
        starts, at = [0], 0
        while (at := source.find(b"\n", at) + 1) > 0:
            starts.append(at)
        return cls(source, tuple(starts))

    def at(self, line: int, column: int) -> int:
        return self.starts[line - 1] + column


@dataclass(frozen=True)
class Source:
    path: str
    text: Text
    noise: Callable[[], str]


def functions(source: bytes, path: str, noise: Callable[[], str], seen: Seen | None = None) -> list[Function]:
    """Raises ValueError for what this Python can't parse."""
    try:
        source.decode("utf-8")
        tree = ast.parse(source)
    except (SyntaxError, RecursionError, MemoryError, UnicodeDecodeError) as err:
        raise ValueError(str(err)) from err
    if source.startswith(b"\xef\xbb\xbf") or source.count(b"\r") != source.count(b"\r\n"):
        raise ValueError("a byte order mark or bare carriage returns")
    whole = Source(path, Text.of(source), noise)
    found = []
    for node, prefix in _outermost(tree.body, ""):
        made = _lambda(node, prefix, whole, seen or {}) if isinstance(node, ast.Assign) else None
        if isinstance(node, Def):
            made = _function(node, prefix, whole, (seen or {}).get(_first_line(node), ()))
        if made is not None:
            found.append(made)
    return found


def _outermost(body: list[ast.stmt], prefix: str) -> Iterator[tuple[ast.stmt, str]]:
    """Functions and lambdas with a name; what lies inside of a function is part of it."""
    for node in body:
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.Assign(value=ast.Lambda()):
                yield node, prefix
            case ast.ClassDef(name=name, body=inner, bases=bases):
                if not any("Protocol" in ast.unparse(base) for base in bases):
                    yield from _outermost(inner, f"{prefix}{name}.")
            case ast.If() | ast.Try() | ast.With() | ast.For() | ast.While():
                for part in ("body", "orelse", "finalbody"):
                    yield from _outermost(getattr(node, part, []), prefix)
                for handler in getattr(node, "handlers", []):
                    yield from _outermost(handler.body, prefix)


def _first_line(node: Def) -> int:
    """As a code object has it: the first decorator's."""
    return min([node.lineno, *(one.lineno for one in node.decorator_list)])


def _function(node: Def, prefix: str, source: Source, seen: Collection[str]) -> Function | None:
    path, text, noise = source.path, source.text, source.noise
    body = _without_docstring(node.body)
    if not body or all(map(_stub, body)) or STUBS & set(map(_decorator, node.decorator_list)):
        return None
    if never_returns(node.returns):
        return None
    inside = list(_own(node))
    gives = _gives(node, inside)
    place = _place(node, body, text)
    answers = _answers(node, gives, inside, seen)
    wild = place(f"{noise()}; {BLOW_UP}")
    return Function(
        path=path,
        name=f"{prefix}{node.name}",
        line=node.lineno,
        last_line=node.end_lineno or node.lineno,
        first_line=_first_line(node),
        gives=gives,
        soft=_soft(node, body, gives),
        body=_fingerprint(node, body),
        mutants=(
            *(Mutant(answer, place(f"{noise()}; {answer}")) for answer in answers),
            Mutant("raise", place(f"{noise()}; {RAISE}")),
        ),
        control=place(noise()),
        blow_up=Mutant("raise BaseException", wild),
    )


def _answers(node: Def, gives: Gives, inside: list[ast.AST], seen: Collection[str]) -> list[str]:
    if gives == "generator":
        return ["return"]
    if gives == "void":
        return ["return None"]
    returned = [part.value for part in inside if isinstance(part, ast.Return) and part.value is not None]
    return [f"return {constant}" for constant in constants(node.returns, returned, seen)]


def _gives(node: Def, inside: list[ast.AST]) -> Gives:
    if any(isinstance(part, ast.Yield | ast.YieldFrom) for part in inside):
        return "generator"
    if returns_nothing(node.returns):
        return "void"
    values = [part.value for part in inside if isinstance(part, ast.Return)]
    return "value" if any(value is not None and not _is_none(value) for value in values) else "void"


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _own(node: ast.AST) -> Iterator[ast.AST]:
    """All nodes of a function but those of functions and classes inside."""
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, SCOPES):
            yield child
            yield from _own(child)


def _without_docstring(body: list[ast.stmt]) -> list[ast.stmt]:
    match body:
        case [ast.Expr(value=ast.Constant(value=str())), *rest]:
            return rest
    return body


def _stub(node: ast.stmt) -> bool:
    match node:
        case ast.Pass() | ast.Expr(value=ast.Constant()):
            return True
        case ast.Raise(exc=ast.Name(id=name) | ast.Call(func=ast.Name(id=name))):
            return name == UNWRITTEN
        case ast.Return(value=None | ast.Constant(value=None) | ast.Name(id="NotImplemented")):
            return True
    return False


def _decorator(node: ast.expr) -> str:
    called = node.func if isinstance(node, ast.Call) else node
    return called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")


def _soft(node: Def, body: list[ast.stmt], gives: Gives) -> bool:
    if node.name in SOFT or all(map(_talk, body)):
        return True
    if node.name == "main" and gives == "value":
        return all(isinstance(value, ast.Constant) for value in _returned(node))
    match body:
        case [ast.Return(value=ast.Constant() | ast.Attribute(value=ast.Name(id="self" | "cls")))]:
            return True
    return False


def _returned(node: Def) -> list[ast.expr]:
    return [part.value for part in _own(node) if isinstance(part, ast.Return) and part.value is not None]


def _talk(node: ast.stmt) -> bool:
    """A call that tells somebody something: print, a logger, a warning."""
    called = node.value.func if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) else None
    if isinstance(called, ast.Attribute):
        return called.attr in TALK
    return isinstance(called, ast.Name) and called.id in TALK


def _fingerprint(node: Def, body: list[ast.stmt]) -> str:
    """What it does, without name, docstring and annotations."""
    bare = copy.deepcopy(node)
    bare.name, bare.returns, bare.body = "_", None, copy.deepcopy(body)
    return ast.dump(_Bare().visit(bare))


class _Bare(ast.NodeTransformer):
    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        if node.value is None:
            return ast.Pass()
        return ast.Assign(targets=[node.target], value=self.visit(node.value))

    def visit_arg(self, node: ast.arg) -> ast.AST:
        return ast.arg(arg=node.arg)


# ── where an edit goes ────────────────────────────────────────────────────────────────────────────────


def _place(node: Def, body: list[ast.stmt], text: Text) -> Callable[[str], Edit]:
    """In front of the first statement, on its line; if that is compound behind the docstring, or on a new line."""
    first = body[0]
    if not _compound(first):
        at = text.at(first.lineno, first.col_offset)
        return lambda words: Edit(at, at, f"{words}; ")
    if len(body) < len(node.body):
        docstring = node.body[0]
        end = text.at(docstring.end_lineno or docstring.lineno, docstring.end_col_offset or 0)
        return lambda words: Edit(end, end, f"; {words}")
    start = text.at(min([first.lineno, *(one.lineno for one in getattr(first, "decorator_list", []))]), 0)
    indent = text.source[start : start + first.col_offset].decode()
    return lambda words: Edit(start, start, f"{indent}{words}\n")


def _compound(node: ast.stmt) -> bool:
    return hasattr(node, "body") or isinstance(node, ast.Match)


def _lambda(node: ast.Assign, prefix: str, source: Source, seen: Seen) -> Function | None:
    """`twice = lambda n: 2 * n`: its expression is the body."""
    made, target, text = node.value, node.targets[0], source.text
    if not isinstance(made, ast.Lambda) or not isinstance(target, ast.Name):
        return None
    body = made.body
    start = text.at(body.lineno, body.col_offset)
    end = text.at(body.end_lineno or body.lineno, body.end_col_offset or 0)

    def instead(words: str) -> Edit:
        return Edit(start, end, words)

    as_it_was = f"(({text.source[start:end].decode()}) if {source.noise()} != 0 else 0)"
    return Function(
        path=source.path,
        name=f"{prefix}{target.id}",
        line=node.lineno,
        last_line=node.end_lineno or node.lineno,
        first_line=made.lineno,
        gives="value",
        soft=isinstance(body, ast.Constant),
        body=ast.dump(made),
        mutants=(
            *(
                Mutant(f"return {constant}", instead(constant))
                for constant in constants(None, [body], seen.get(made.lineno, ()))
            ),
            Mutant("raise", instead("(_ for _ in ()).throw(RuntimeError('damascus'))")),
        ),
        control=instead(as_it_was),
    )
