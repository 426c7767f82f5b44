"""What checks that a written file compiles, by stack (A12). Python needs no command: compiling runs nothing."""

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import PurePosixPath

PYTHON = (".py",)


@dataclass(frozen=True)
class Recipe:
    """One stack's compiler. `roots` mark the folder that it checks, `needs` what must lie there beside them."""

    tool: str
    suffixes: tuple[str, ...]
    roots: tuple[str, ...]
    words: tuple[str, ...]
    needs: tuple[str, ...] = ()
    local: str = ""


@dataclass(frozen=True)
class CompileCheck:
    """A command to run in `folder` (below the workspace), or in `missing` why there is none."""

    tool: str
    folder: str = ""
    argv: tuple[str, ...] = ()
    missing: str = ""


RECIPES = (
    Recipe("go", (".go",), ("go.mod", "go.work"), ("build", "-o", "/dev/null", "./...")),
    Recipe(
        "tsc",
        (".ts", ".tsx", ".mts", ".cts"),
        ("tsconfig.json",),
        ("--noEmit", "--pretty", "false", "--incremental", "--tsBuildInfoFile", "{cache}/tsbuildinfo", "-p", "."),
        local="node_modules/.bin/tsc",
    ),
    Recipe(
        "cargo",
        (".rs",),
        ("Cargo.toml",),
        ("check", "--quiet", "--locked", "--offline", "--message-format", "short"),
        needs=("Cargo.lock",),
    ),
)
"""None writes into the checkout: what they left there would be in the story's diff. So cargo needs its lock file."""


def is_python(path: str) -> bool:
    return PurePosixPath(path).suffix in PYTHON


def check_of(path: str, there: Callable[[str], bool], cache: str) -> CompileCheck | None:
    """The check of a written file; None for a file that no compiler reads. `there` looks into the workspace."""
    recipe = next((recipe for recipe in RECIPES if PurePosixPath(path).suffix in recipe.suffixes), None)
    folder = _root_of(path, recipe, there) if recipe else None
    if recipe is None or folder is None:
        return None
    if lacking := [name for name in recipe.needs if not there(_joined(folder, name))]:
        return CompileCheck(recipe.tool, folder, missing=f"{recipe.tool} needs {', '.join(lacking)}")
    program = _program(folder, recipe, there)
    if program is None:
        return CompileCheck(recipe.tool, folder, missing=f"{recipe.tool} is not installed")
    words = tuple(word.replace("{cache}", cache) for word in recipe.words)
    return CompileCheck(recipe.tool, folder, (program, *words))


def _root_of(path: str, recipe: Recipe, there: Callable[[str], bool]) -> str | None:
    """The nearest folder above the file that is a project of this stack."""
    folders = [str(folder) for folder in PurePosixPath(path).parents]
    return next((folder for folder in folders if any(there(_joined(folder, root)) for root in recipe.roots)), None)


def _program(folder: str, recipe: Recipe, there: Callable[[str], bool]) -> str | None:
    """The project's own compiler first, then the machine's."""
    if recipe.local and there(_joined(folder, recipe.local)):
        return f"./{recipe.local}"
    return shutil.which(recipe.tool)


def _joined(folder: str, name: str) -> str:
    return name if folder == "." else f"{folder}/{name}"
