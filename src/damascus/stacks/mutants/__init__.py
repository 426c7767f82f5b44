"""Mutants of functions, by stack. A new stack is a sibling file and a line here."""

from collections.abc import Callable, Collection, Mapping
from pathlib import PurePosixPath

from damascus.stacks.mutants import go_functions, node_functions, python_functions, rust_functions
from damascus.stacks.mutants.function import Edit, Function, Mutant, edited, noticed
from damascus.stacks.mutants.outside import Part, parts_outside
from damascus.stacks.mutants.values import Values
from damascus.stacks.stack import READ_LIMIT

__all__ = ["Edit", "Function", "Mutant", "Part", "Values", "edited", "functions_in", "noticed", "outside", "reads"]

Reader = Callable[[bytes, str, Values, Mapping[int, Collection[str]]], list[Function]]
NODE = (".js", ".mjs", ".cjs", ".jsx", ".ts", ".mts", ".cts", ".tsx")
READERS: dict[str, Reader] = {
    ".py": python_functions.functions,
    ".go": go_functions.functions,
    ".rs": rust_functions.functions,
    **dict.fromkeys(NODE, node_functions.functions),
}


def reads(path: str) -> bool:
    return PurePosixPath(path).suffix in READERS


def functions_in(
    source: bytes, path: str, seen: Mapping[int, Collection[str]] | None = None, values: Values | None = None
) -> list[Function]:
    """Raises ValueError for a source that can't be read, or is too long."""
    if len(source) > READ_LIMIT:
        raise ValueError("too long")
    try:
        return READERS[PurePosixPath(path).suffix](source, path, values or Values.drawn(), seen or {})
    except RecursionError as err:
        raise ValueError(str(err)) from err


def outside(source: bytes, path: str, values: Values | None = None) -> list[Part]:
    """What lies outside of any function. Raises ValueError as above."""
    values = values or Values.drawn()
    try:
        match PurePosixPath(path).suffix:
            case ".py":
                return parts_outside(source, values)
            case ".go":
                return go_functions.outside(source, values)
            case ".rs":
                return rust_functions.outside(source, values)
        return node_functions.outside(source, path, values)
    except RecursionError as err:
        raise ValueError(str(err)) from err
