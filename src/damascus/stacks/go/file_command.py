"""The command that runs the packages in which files of Go's tests lie: go test knows no single file."""

import shlex
from collections.abc import Sequence
from pathlib import PurePosixPath

from damascus.stacks.nearest import inside, nearest
from damascus.stacks.stack import BaseFiles


def file_command(files: Sequence[str], base: BaseFiles) -> str:
    modules = nearest(files, base.listing, ("go.mod",))
    return " && ".join(_of_module(folder, named) for folder, named in modules.items())


def _of_module(folder: str, files: Sequence[str]) -> str:
    packages = sorted({PurePosixPath(inside(path, folder)).parent.as_posix() for path in files})
    named = " ".join(shlex.quote("." if package == "." else f"./{package}") for package in packages)
    return f"go {f'-C {shlex.quote(folder)} ' if folder else ''}test -v {named}"
