"""Examples in Python's docstrings: a candidate's module with those that another version of it has."""

import ast
from collections.abc import Collection, Iterator

from damascus.stacks.inner_tests import InnerTests

EXAMPLE = ">>>"
Named = ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
Documented = ast.Module | Named


def with_examples_of(base: str, candidate: str) -> str | None:
    """Docstrings are values: set again at the end of the module. What is gone is missed by the run itself."""
    now = dict(_docstrings(ast.parse(candidate)))
    owed = {name: text for name, text in _docstrings(ast.parse(base)) if EXAMPLE in text and now.get(name) != text}
    if not owed:
        return None
    lines = [
        f"try:\n    {name} = {text!r}\nexcept (NameError, AttributeError):\n    pass" for name, text in owed.items()
    ]
    return "\n".join([candidate, *lines, ""])


def _docstrings(node: Documented, place: str = "") -> Iterator[tuple[str, str]]:
    text = ast.get_docstring(node, clean=False)
    if text is not None:
        yield f"{place}__doc__", text
    for child in node.body:
        if isinstance(child, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            inner = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
            yield from () if inner else _docstrings(child, f"{place}{child.name}.")


def on_base(candidate: str, base: str, added: Collection[str]) -> str | None:
    """A function that the base lacks is there with its examples, and raises."""
    known = {child.name for child in ast.parse(base).body if isinstance(child, Named)}
    missing = [child for child in ast.parse(candidate).body if isinstance(child, Named) and child.name not in known]
    stubs = [_stub(child.name, text) for child in missing if EXAMPLE in (text := ast.get_docstring(child, False) or "")]
    now = with_examples_of(candidate, base) if known else None
    if now is None and not stubs:
        return None
    return "\n".join([now if now is not None else base, *stubs])


def _stub(name: str, text: str) -> str:
    return f"def {name}(*args, **named):\n    raise NameError({name!r})\n\n\n{name}.__doc__ = {text!r}\n"


def says(source: str, name: str) -> str:
    """The docstring with the example that is reported as `package.module.function`."""
    try:
        found = dict(_docstrings(ast.parse(source)))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ""
    parts = name.split(".")
    keys = (f"{'.'.join(parts[at:])}.__doc__" for at in range(len(parts)))
    text = next((found[key] for key in keys if key in found), found.get("__doc__", ""))
    return text if EXAMPLE in text else ""


EXAMPLES = InnerTests(lambda base: EXAMPLE in base, with_examples_of, on_base, says)
