"""Mutants of functions, by stack. A new stack is a sibling file and a line here."""

import secrets
from collections.abc import Callable, Collection, Mapping
from pathlib import PurePosixPath

from damascus.stacks.mutants import go_functions, node_functions, python_functions, rust_functions
from damascus.stacks.mutants.function import Edit, Function, Mutant, edited
from damascus.stacks.mutants.outside import Part, parts_outside
from damascus.stacks.stack import READ_LIMIT

__all__ = ["Edit", "Function", "Mutant", "Part", "edited", "functions_in", "outside", "reads"]

Noise = Callable[[], str]
Reader = Callable[[bytes, str, Noise, Mapping[int, Collection[str]]], list[Function]]
READERS: dict[str, tuple[Reader, Noise]] = {}


def python_noise() -> str:
    """Another statement without effect each time: whoever wants to know a control from a mutant has to run it."""
    number = 1000 + secrets.randbelow(9000)
    forms = (f"[{number}]", f"{{{number}: {number}}}", f"(lambda: {number})", f"f'{{{number}}}'", f"not [{number}]")
    return secrets.choice(forms)


NODE = (".js", ".mjs", ".cjs", ".jsx", ".ts", ".mts", ".cts", ".tsx")
READERS |= {
    ".py": (python_functions.functions, python_noise),
    ".go": (go_functions.functions, python_noise),
    ".rs": (rust_functions.functions, python_noise),
    **dict.fromkeys(NODE, (node_functions.functions, python_noise)),
}


def reads(path: str) -> bool:
    return PurePosixPath(path).suffix in READERS


def functions_in(source: bytes, path: str, seen: Mapping[int, Collection[str]] | None = None) -> list[Function]:
    """Raises ValueError for a source that can't be read, or is too long."""
    if len(source) > READ_LIMIT:
        raise ValueError("too long")
    reader, noise = READERS[PurePosixPath(path).suffix]
    return reader(source, path, noise, seen or {})


def outside(source: bytes, path: str) -> list[Part]:
    """What lies outside of any function. Raises ValueError as above."""
    match PurePosixPath(path).suffix:
        case ".py":
            return parts_outside(source)
        case ".go":
            return go_functions.outside(source)
        case ".rs":
            return rust_functions.outside(source)
    return node_functions.outside(source, path)
