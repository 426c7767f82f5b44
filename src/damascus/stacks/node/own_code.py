"""Copies and builds of a project's own JavaScript: what says so itself, or lies where only a build of it does."""

import os
import posixpath
import re
from pathlib import Path

from damascus.stacks.own_code import BUILD, LARGE, Own, OwnCode, Sources

LINK = "link it (a workspace, or `npm install ./folder`)"
OUTPUTS = frozenset({"dist", "build", "lib", "out", "es", "esm", "cjs", "umd", "_build", "output", ".output", ".next"})
SCRIPTS = (".js", ".mjs", ".cjs")
SCRIPTS_FROM = (".ts", ".tsx", ".mts", ".cts", ".js", ".jsx", ".mjs", ".cjs", ".vue", ".svelte", ".coffee")


def _node_copy(ours: Sources, path: Path, name: str) -> Own | None:
    """A package with the very package.json of one of ours; a link would mean the candidate."""
    if path.name != "package.json":
        return None
    found = [source for source in ours.same(path) if posixpath.basename(source) == "package.json"]
    return Own(posixpath.dirname(name), f"a copy of the package of {found[0]}", LINK) if found else None


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


OWN_CODE = OwnCode(
    in_packages=(_node_copy,),
    outside=(_node_copy, _transpiled, _declared),
    at_home=(_node_copy,),
    by_content=("package.json",),
)
