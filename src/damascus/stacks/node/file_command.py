"""The command that runs single files of Node's tests: vitest, jest or mocha where the package has it, else node."""

import json
import shlex
from collections.abc import Sequence
from pathlib import PurePosixPath

from damascus.stacks.nearest import inside, nearest
from damascus.stacks.stack import BaseFiles

RUNNERS = {"vitest": "npx vitest run", "jest": "npx jest --ci", "mocha": "npx mocha"}
SETTINGS = ("config.ts", "config.js", "config.mts", "config.mjs", "config.cts", "config.cjs", "config.json")
NEED_ONE = (".jsx", ".tsx")
"""Node itself runs none of these."""


def file_command(files: Sequence[str], base: BaseFiles) -> str:
    """ "": nothing tells how."""
    folders = nearest(files, base.listing, ("package.json",))
    parts = [_of_package(folder, named, base) for folder, named in folders.items()]
    return " && ".join(parts) if all(parts) else ""


def _of_package(folder: str, files: Sequence[str], base: BaseFiles) -> str:
    runner = _runner(folder, base)
    if not runner and any(PurePosixPath(path).suffix in NEED_ONE for path in files):
        return ""
    named = " ".join(shlex.quote(inside(path, folder)) for path in files)
    command = f"{runner or 'node --test'} {named}"
    return f"(cd {shlex.quote(folder)} && {command})" if folder else command


def _runner(folder: str, base: BaseFiles) -> str:
    """By its settings, else by what the package depends on."""
    here = f"{folder}/" if folder else ""
    for name, command in RUNNERS.items():
        if any(f"{here}{name}.{ending}" in base.listing for ending in SETTINGS):
            return command
    needed = _dependencies(base.text(f"{here}package.json"))
    return next((command for name, command in RUNNERS.items() if name in needed), "")


def _dependencies(package: str) -> set[str]:
    try:
        found = json.loads(package or "{}")
    except (ValueError, RecursionError):
        return set()
    parts = [found.get(key) for key in ("dependencies", "devDependencies")] if isinstance(found, dict) else []
    return {name for part in parts if isinstance(part, dict) for name in part}
