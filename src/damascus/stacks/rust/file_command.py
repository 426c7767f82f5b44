"""The command that runs files of Rust's tests: those in tests/ by name, a test inside the code with all others."""

import shlex
from collections.abc import Sequence
from pathlib import PurePosixPath

from damascus.stacks.nearest import inside, nearest
from damascus.stacks.stack import BaseFiles


def file_command(files: Sequence[str], base: BaseFiles) -> str:
    packages = nearest(files, base.listing, ("Cargo.toml",))
    return " && ".join(_of_package(folder, named) for folder, named in packages.items())


def _of_package(folder: str, files: Sequence[str]) -> str:
    paths = [PurePosixPath(inside(path, folder)) for path in files]
    alone = all(path.parent.as_posix() == "tests" for path in paths)
    named = "".join(f" --test {shlex.quote(path.stem)}" for path in paths) if alone else ""
    return f"cargo test{f' --manifest-path {shlex.quote(folder)}/Cargo.toml' if folder else ''}{named}"
