"""Functions that no `def` shows: what tests call of a module, bound by an assignment, an import, a decorator, `exec`.

Whatever bound the name, it can be bound again at the end of the module: to a function that answers something else.
"""

import ast
from collections.abc import Collection, Iterator
from pathlib import PurePosixPath

from damascus.stacks.mutants.function import Edit, Function, Mutant
from damascus.stacks.mutants.values import Values, same
from damascus.stacks.python.answers import answers
from damascus.stacks.python.text import blocks, decoded, own, parsed, said

KINDS = ("bool", "int", "float", "str", "bytes", "list", "dict", "set", "frozenset", "tuple")
Binding = tuple[int, str]
"""Its line, and what it says."""


def called_by(source: bytes) -> set[tuple[str, str]]:
    """(module, name) for each name of a module that this source calls; nothing of what can't be parsed."""
    try:
        tree = parsed(decoded(source)[0])
    except ValueError:
        return set()
    homes: dict[str, tuple[str, str]] = {}
    calls: set[str] = set()
    for node in own(tree, ()):
        match node:
            case ast.Import(names=names):
                for alias in names:
                    homes[alias.asname or alias.name] = (alias.name, "")
            case ast.ImportFrom(module=module, names=names):
                for alias in names:
                    homes[alias.asname or alias.name] = (module or "", alias.name)
            case ast.Call(func=called):
                calls.add(_dotted(called))
    return {found for call in calls for found in _homes(call, homes)}


def _homes(call: str, homes: dict[str, tuple[str, str]]) -> Iterator[tuple[str, str]]:
    if call in homes and homes[call][1]:
        yield homes[call]
    place, _, name = call.rpartition(".")
    if place in homes:
        module, inner = homes[place]
        yield f"{module}.{inner}".strip("."), name


def _dotted(node: ast.expr) -> str:
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return ".".join([node.id, *reversed(parts)]) if isinstance(node, ast.Name) else ""


def is_module(dotted: str, path: str) -> bool:
    """May this file be imported by that name? Any folder above it may be the root."""
    whole = PurePosixPath(path).with_suffix("").as_posix().removesuffix("/__init__").replace("/", ".")
    return bool(dotted) and f".{whole}".endswith(f".{dotted}")


def bindings(source: bytes) -> dict[str, Binding]:
    """What binds each name at the top of a module, classes left out. Raises ValueError."""
    tree = parsed(decoded(source)[0])
    found: dict[str, Binding] = {}
    stack = list(reversed(tree.body))
    while stack:
        node = stack.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            found[node.name] = node.lineno, said(node)
        elif isinstance(node, ast.ClassDef):
            found.pop(node.name, None)
        else:
            stack += [one for block in reversed(blocks(node)) for one in reversed(block)]
            found |= dict.fromkeys(_bound(node), (node.lineno, said(node)))
    return found


def _bound(node: ast.stmt) -> Iterator[str]:
    if isinstance(node, ast.Import | ast.ImportFrom):
        yield from ((alias.asname or alias.name).partition(".")[0] for alias in node.names)
    elif isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign):
        for one in own(node, (ast.Lambda,)):
            if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store):
                yield one.id


def classes(source: bytes) -> set[str]:
    """Raises ValueError."""
    return {node.name for node in own(parsed(decoded(source)[0]), ()) if isinstance(node, ast.ClassDef)}


def by_name(source: bytes, path: str, names: Collection[str], values: Values) -> list[Function]:
    """Raises ValueError."""
    end = len(decoded(source)[0].encode())
    bound = bindings(source)
    return [_function(path, name, bound.get(name, (1, name)), end, values) for name in sorted(names)]


def _function(path: str, name: str, binding: Binding, end: int, values: Values) -> Function:
    line, says = binding

    def put(words: str, holds: bool = True) -> Edit:
        """`words` is what it gives back; a class, or what can't be called, stays what it is."""
        held = f"globals().get({name!r})"
        code = f"if {same(holds)} and callable({held}) and not isinstance({held}, type):\n"
        return Edit(end, end, f"\n{code}    {name} = (lambda real: lambda *a, **k: {words})({name})\n")

    def of_its_type(number: int) -> str:
        each = ", ".join(f"{kind}: {_nth(kind, number, values)}" for kind in KINDS)
        return f"{{{each}}}.get(type(real(*a, **k)))"

    return Function(
        path=path,
        name=name,
        line=line,
        last_line=line,
        first_line=line,
        gives="value",
        soft=False,
        body=says,
        mutants=(
            *(
                Mutant(f"return another value of its type ({number + 1})", put(of_its_type(number)), number > 0)
                for number in range(3)
            ),
            Mutant("raise", put(f"(_ for _ in ()).throw(RuntimeError({values.word!r}))")),
        ),
        control=put("real(*a, **k)", False),
        by_name=True,
    )


def _nth(kind: str, number: int, values: Values) -> str:
    found = answers(kind, values)
    return found[min(number, len(found) - 1)].text
