"""What checks that a written file compiles, by stack (A12). Python needs no command: compiling runs nothing."""

import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from damascus.stacks import stack_of
from damascus.stacks.stack import Recipe


@dataclass(frozen=True)
class CompileCheck:
    """A command to run in `folder` (below the workspace), or in `missing` why there is none."""

    tool: str
    folder: str = ""
    argv: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    missing: str = ""


def check_of(path: str, there: Callable[[str], bool], cache: str) -> CompileCheck | None:
    """The check of a written file; None for a file that no compiler reads. `there` looks into the workspace."""
    stack = stack_of(path)
    recipe = stack.compiler if stack else None
    recipe = recipe if recipe and PurePosixPath(path).suffix in recipe.suffixes else None
    folder = _root_of(path, recipe, there) if recipe else None
    if recipe is None or folder is None:
        return None
    if lacking := [name for name in recipe.needs if not there(_joined(folder, name))]:
        return CompileCheck(recipe.tool, folder, missing=f"{recipe.tool} needs {', '.join(lacking)}")
    program = _program(folder, recipe, there)
    if program is None:
        return CompileCheck(recipe.tool, folder, missing=f"{recipe.tool} is not installed")
    words = tuple(word.replace("{cache}", cache) for word in recipe.words)
    environment = {name: value.replace("{cache}", cache) for name, value in recipe.environment.items()}
    return CompileCheck(recipe.tool, folder, (program, *words), environment)


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
