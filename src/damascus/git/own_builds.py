"""Builds of the project's own sources: what says so itself, or lies where only a build of these sources does."""

import os
import posixpath
import re
from pathlib import Path

from damascus.git.sources import Check, Own, Sources

BUILD = "build it in the test command"
FOREIGN = f"{BUILD}, or put a program of others below node_modules or .venv,"
COMPILED = (".so", ".pyd", ".dylib", ".node", ".wasm", ".o", ".a", ".class")
OUTPUTS = frozenset({"dist", "build", "lib", "out", "es", "esm", "cjs", "umd", "_build", "output", ".output", ".next"})
SCRIPTS = (".js", ".mjs", ".cjs")
SCRIPTS_FROM = (".ts", ".tsx", ".mts", ".cts", ".js", ".jsx", ".mjs", ".cjs", ".vue", ".svelte", ".coffee")
ELF = b"\x7fELF"
LARGE = 64_000_000


def _compiled(ours: Sources, path: Path, name: str) -> Own | None:
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


def _transpiled(ours: Sources, path: Path, name: str) -> Own | None:
    """A script at the place of a source of ours in a folder for output (dist/a/b.js of src/a/b.ts), or beside it."""
    if path.suffix not in SCRIPTS:
        return None
    made = name.removesuffix(path.suffix).split("/")
    for source in ours.files:
        if source.endswith(SCRIPTS_FROM) and _same_place(made, posixpath.splitext(source)[0].split("/")):
            return Own(name, f"a build of {source}", BUILD)
    mapped = _named_in(ours, path)
    return Own(name, f"a build of {mapped}", BUILD) if mapped else None


def _same_place(made: list[str], source: list[str]) -> bool:
    ends = _shared(made[::-1], source[::-1])
    made, source = made[: len(made) - ends], source[: len(source) - ends]
    begins = _shared(made, source)
    return ends > 0 and len(source) - begins <= 1 and (begins == len(made) or made[begins] in OUTPUTS)


def _shared(one: list[str], other: list[str]) -> int:
    """How many names at the start are the same."""
    return next((n for n, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


def _named_in(ours: Sources, path: Path) -> str:
    """A source of ours that the script's map or a bundler's own remark names."""
    with path.open("rb") as file:
        named = re.findall(rb"^[ \t]*//(?:#region)? ?(\S+)$", file.read(LARGE), re.MULTILINE)
    beside = path.with_name(f"{path.name}.map")
    if beside.is_file():
        named += re.findall(rb'"([^"\\\s]{1,1000})"', beside.read_bytes()[:LARGE])
    plain = (os.fsdecode(each).removeprefix(f"{ours.seen}/").rpartition("/./")[2] for each in named)
    return next(
        (each for word in plain if (each := re.sub(r"^(?:\.{1,2}/)+", "", word)) in ours.files and "/" in each), ""
    )


def _declared(ours: Sources, path: Path, name: str) -> Own | None:
    """What a package.json of ours calls its code is its code."""
    if path.suffix not in SCRIPTS:
        return None
    for manifest in (each for each in ours.files if posixpath.basename(each) == "package.json"):
        below = posixpath.relpath(name, posixpath.dirname(manifest) or ".")
        if re.search(rb'"(?:\./)?' + re.escape(below.encode()) + rb'"', ours.read(manifest)):
            return Own(name, f"the code of {manifest}", BUILD)
    return None


BUILDS: tuple[Check, ...] = (_compiled, _transpiled, _declared)
