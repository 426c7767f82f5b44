"""A Python test file, read by its syntax tree.

What we look for is how a test stops being able to fail: a marker, a skip somewhere in its body, a condition
around it, a second definition that shadows it, assertions that are gone, constant or swallowed.
"""

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from damascus.stacks.python.asking import asked_of, imported
from damascus.stacks.python.negatives import is_negative
from damascus.stacks.words import Words, read_words
from damascus.stacks.written import WrittenFile, WrittenTest

SKIPS = frozenset(
    {"skip", "skipif", "skipIf", "skipUnless", "skipTest", "xfail", "importorskip", "SkipTest", "expectedFailure"}
    | {"collect_ignore", "collect_ignore_glob", "__test__", "load_tests"}
)
RUNNERS = frozenset({"pytest", "mark", "unittest"})
"""Whose `skip` skips a test; anybody else's may be the very thing that is tested."""
ASSERTING = re.compile(r"assert|expect|check|verif|ensure|raises|fail|should|must|warns", re.IGNORECASE)
HARMLESS = frozenset({"print", "len", "str", "repr", "list", "dict", "set", "tuple", "bool", "isinstance"})
DEEPEST = 10
SWALLOWS = frozenset({"AssertionError", "Exception", "BaseException"})
WORDS = Words(
    head=re.compile(r"^[ \t]{0,200}(?:async )?def (?P<name>test\w{0,300})\(", re.MULTILINE),
    skips=re.compile(r"\b(?:skip\w*|xfail|importorskip|SkipTest|expectedFailure)\b|__test__"),
    asserts=re.compile(r"\bassert\w*\b|\braises\b|\bfail\("),
    comment="#",
    mark="@",
)
Function = ast.FunctionDef | ast.AsyncFunctionDef


def read(source: str) -> WrittenFile:
    """By the syntax tree; by its words where this Python can't parse it (a newer or an older syntax)."""
    try:
        return read_tree(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return read_words(source, WORDS)


@dataclass
class SourceTests:
    """What is known while walking down: where we are, what is named and what skips above."""

    tests: dict[str, WrittenTest] = field(default_factory=dict)
    outside: int = 0
    of_class: dict[str, list[str]] = field(default_factory=dict)
    """The tests below each class, for whoever defines or takes away the class again."""


@dataclass(frozen=True)
class AroundTest:
    """The classes and conditions around a test."""

    prefix: str = ""
    text: str = ""
    skips: int = 0
    imported: Mapping[str, str] = field(default_factory=dict)
    known: Mapping[str, ast.ClassDef] = field(default_factory=dict)
    """The module's classes by name: what a class inherits from one of them it runs as its own."""


def read_tree(source: str) -> WrittenFile:
    tree = ast.parse(source)
    reading = SourceTests()
    known = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
    _walk(tree.body, AroundTest(text=_marks(tree.body), imported=imported(tree.body), known=known), reading)
    return WrittenFile(reading.tests, reading.outside)


def _walk(body: list[ast.stmt], place: AroundTest, reading: SourceTests) -> None:
    for node in body:
        if isinstance(node, Function):
            _function(node, place, reading)
        elif isinstance(node, ast.ClassDef):
            _class(node, place, reading)
        elif isinstance(node, ast.If | ast.Try | ast.With | ast.For | ast.While):
            _conditional(node, place, reading)
        else:
            reading.outside += _skips(node)
            for name in _rebound(node):
                _forget(place.prefix + name, reading)


def _function(node: Function, place: AroundTest, reading: SourceTests) -> None:
    if not node.name.startswith("test"):
        reading.outside += _skips(node)
        return
    name = place.prefix + node.name
    live = list(_live(node.body))
    asserts = sum(_asserts(part) for part in live)
    text = " ".join([place.text, name, _decorators(node), ast.get_docstring(node) or ""])
    reading.tests[name] = WrittenTest(
        name=name,
        text=text,
        skips=place.skips + _skips(node) + _without_parameters(node),
        asserts=asserts,
        can_fail=asserts > 0 or any(_can_fail(part) for part in live),
        body="\n".join(ast.dump(part) for part in node.body),
        asked=None if asserts else asked_of(node, live, place.imported),
        negative=is_negative(live),
    )


def _class(node: ast.ClassDef, place: AroundTest, reading: SourceTests) -> None:
    if not _collected(node):
        reading.outside += _skips(node)
        return
    inner = SourceTests()
    own = sum(_skips(part) for part in [*node.decorator_list, *node.bases, *node.keywords])
    text = " ".join([place.text, _decorators(node), ast.get_docstring(node) or "", _marks(node.body)])
    inside = AroundTest(f"{place.prefix}{node.name}::", text, place.skips + own, place.imported, place.known)
    for above in _inherited(node, place.known):
        _walk(above.body, inside, inner)
    _walk(node.body, inside, inner)
    _forget(place.prefix + node.name, reading)
    reading.of_class[place.prefix + node.name] = list(inner.tests)
    for name, test in inner.tests.items():
        reading.tests[name] = _skipped_further(test, inner.outside)


def _inherited(node: ast.ClassDef, known: Mapping[str, ast.ClassDef], deep: int = 0) -> Iterator[ast.ClassDef]:
    """Classes of the same module whose tests it runs too, the furthest first: what is nearer takes their place."""
    for base in reversed(node.bases):
        above = known.get(base.id) if isinstance(base, ast.Name) else None
        if above is not None and above is not node and deep < DEEPEST:
            yield from _inherited(above, known, deep + 1)
            yield above


def _forget(name: str, reading: SourceTests) -> None:
    for test in [name, *reading.of_class.pop(name, [])]:
        reading.tests.pop(test, None)


def _skipped_further(test: WrittenTest, skips: int) -> WrittenTest:
    """What skips in a class, outside of its tests (setUp, pytestmark), reaches each of them."""
    return replace(test, skips=test.skips + skips)


def _conditional(
    node: ast.If | ast.Try | ast.With | ast.For | ast.While, place: AroundTest, reading: SourceTests
) -> None:
    """A test inside a condition runs only sometimes: being put there counts like a skip."""
    inside = replace(place, skips=place.skips + 1)
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.stmt):
            _walk([child], inside, reading)
        elif isinstance(child, ast.ExceptHandler):
            _walk(child.body, inside, reading)
        else:
            reading.outside += _skips(child)


def _collected(node: ast.ClassDef) -> bool:
    bases = [_last_name(base) for base in node.bases]
    return node.name.startswith("Test") or any("Test" in base or "Case" in base for base in bases)


def _rebound(node: ast.stmt) -> Iterator[str]:
    """Names that a statement takes away from what was defined above."""
    if isinstance(node, ast.Import | ast.ImportFrom):
        yield from (alias.asname or alias.name for alias in node.names)
        return
    for part in ast.walk(node):
        if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store | ast.Del):
            yield part.id


def _marks(body: list[ast.stmt]) -> str:
    """`pytestmark = …` of a module or class: markers of every test below."""
    marks = [node for node in body if isinstance(node, ast.Assign) and "pytestmark" in map(_last_name, node.targets)]
    return " ".join(ast.unparse(node.value) for node in marks)


def _decorators(node: Function | ast.ClassDef) -> str:
    return " ".join(ast.unparse(decorator) for decorator in node.decorator_list)


def _last_name(node: ast.AST) -> str:
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case ast.Call(func=inner) | ast.Subscript(value=inner):
            return _last_name(inner)
        case _:
            return ""


def _skips(node: ast.AST) -> int:
    return sum(1 for part in ast.walk(node) if _is_skip(part))


def _is_skip(node: ast.AST) -> bool:
    match node:
        case ast.Name(id=name) | ast.FunctionDef(name=name):
            return name in SKIPS
        case ast.Attribute(attr="skip", value=owner):
            return _last_name(owner) in RUNNERS
        case ast.Attribute(attr=name):
            return name in SKIPS
        case ast.alias(name=name, asname=other):
            return other is not None and name in SKIPS | RUNNERS
        case _:
            return False


def _without_parameters(node: Function) -> int:
    """`parametrize("x", [])` runs nothing."""
    return sum(
        1
        for decorator in node.decorator_list
        if isinstance(decorator, ast.Call)
        and _last_name(decorator) == "parametrize"
        and any(isinstance(arg, ast.List | ast.Tuple | ast.Set) and not arg.elts for arg in decorator.args[1:])
    )


def _live(body: list[ast.stmt]) -> Iterator[ast.AST]:
    """Every node that can run: not behind a return, a false condition or what swallows a failure."""
    for node in body:
        yield from _live_parts(node)
        if isinstance(node, ast.Return | ast.Continue | ast.Break):
            return


def _live_parts(node: ast.stmt) -> Iterator[ast.AST]:
    heads, bodies = _head_and_bodies(node)
    for head in heads:
        yield from ast.walk(head)
    for body in bodies:
        yield from _live(body)


def _head_and_bodies(node: ast.stmt) -> tuple[list[ast.AST], list[list[ast.stmt]]]:
    """What of a statement can run: whole nodes, and lists of statements that are looked at in their turn."""
    match node:
        case ast.Assert(test=test):
            return ([] if _always_true(test) else [node]), []
        case ast.If(test=test) | ast.While(test=test):
            yes = [] if _constant(test, False) else node.body
            return [test], [yes, [] if _constant(test, True) else node.orelse]
        case ast.Try(handlers=handlers):
            tried = [] if any(map(_swallows, handlers)) else node.body
            return [], [tried, *(handler.body for handler in handlers), node.orelse, node.finalbody]
        case ast.With(items=items) | ast.AsyncWith(items=items):
            contexts: list[ast.AST] = [item.context_expr for item in items]
            suppressed = "suppress" in map(_last_name, contexts)
            return ([], []) if suppressed else (contexts, [node.body])
        case ast.FunctionDef(body=body) | ast.AsyncFunctionDef(body=body) | ast.ClassDef(body=body):
            return [], [body]
        case ast.For(iter=over) | ast.AsyncFor(iter=over):
            return [over], [node.body, node.orelse]
        case _:
            return [node], []


def _swallows(handler: ast.ExceptHandler) -> bool:
    if any(isinstance(part, ast.Raise) or _asserts(part) for part in ast.walk(handler)):
        return False
    if handler.type is None:
        return True
    kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return any(_last_name(kind) in SWALLOWS for kind in kinds)


def _constant(node: ast.expr, value: bool) -> bool:
    return isinstance(node, ast.Constant) and bool(node.value) is value


def _asserts(node: ast.AST) -> bool:
    if isinstance(node, ast.Assert):
        return not _always_true(node.test)
    return isinstance(node, ast.Call) and ASSERTING.search(_last_name(node.func)) is not None


def _always_true(test: ast.expr) -> bool:
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.Or):
        return any(_constant(value, True) for value in test.values)
    if isinstance(test, ast.Tuple | ast.List | ast.Set | ast.Dict):  # `assert (x == 1, "why")`
        return any(isinstance(part, ast.expr) for part in ast.iter_child_nodes(test))
    if isinstance(test, ast.Compare) and _with_itself(test):
        return True
    moving = ast.Name | ast.Call | ast.Attribute | ast.Await
    return not _constant(test, False) and not any(isinstance(part, moving) for part in ast.walk(test))


def _with_itself(test: ast.Compare) -> bool:
    holds = all(isinstance(op, ast.Eq | ast.Is | ast.LtE | ast.GtE) for op in test.ops)
    return holds and len({ast.dump(part) for part in (test.left, *test.comparators)}) == 1


def _can_fail(node: ast.AST) -> bool:
    if isinstance(node, ast.Call):
        return _last_name(node.func) not in HARMLESS | SKIPS
    return isinstance(node, ast.Raise)
