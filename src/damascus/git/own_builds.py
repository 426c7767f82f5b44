"""Machine code of the project's own sources: it says so itself, or lies where only a build of these sources does."""

import re
from pathlib import Path

from damascus.stacks.own_code import BUILD, LARGE, Own, Sources

FOREIGN = f"{BUILD}, or put a program of others below node_modules or .venv,"
COMPILED = (".so", ".pyd", ".dylib", ".node", ".wasm", ".o", ".a", ".class")
ELF = b"\x7fELF"


def compiled(ours: Sources, path: Path, name: str) -> Own | None:
    """Machine code outside of packages, in a project with something to compile, if it does not say whose it is."""
    if not ours.compiles or not _is_machine_code(path):
        return None
    data = path.read_bytes()[:LARGE]
    if (of_go := re.search(rb"\npath\t(\S+)\n(?:mod\t(\S+)\t)?", data)) is not None:
        named = [part for part in of_go.groups() if part]
        own = any(part == module or part.startswith(module + b"/") for part in named for module in ours.modules)
        return Own(name, "a build of this project", BUILD) if own else None
    return Own(name, "compiled code, as of this project's own sources", FOREIGN)


def _is_machine_code(path: Path) -> bool:
    if path.suffix in COMPILED:
        return True
    try:
        with path.open("rb") as file:
            return file.read(4) == ELF
    except OSError:
        return False
