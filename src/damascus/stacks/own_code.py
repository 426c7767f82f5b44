"""What set-up left of the project's own sources, and the sources themselves as a check needs them. Which checks there
are, each stack says (`Stack.own_code`)."""

import hashlib
import posixpath
import re
import zlib
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from damascus.stacks import REGISTRY

LAYOUTS = ("", "src/", "lib/", "python/")
"""Below a project's folder: where its packages are imported from."""
PROJECT_FILES = ("pyproject.toml", "setup.py", "setup.cfg")
COMPILED_FROM = (".c", ".cc", ".cpp", ".cxx", ".pyx", ".rs", ".go", ".zig", ".f90", ".java", ".kt", ".swift")
SMALL = 32
"""Bytes below which two files are the same by chance."""


BUILD = "build it in the test command"
LARGE = 64_000_000


@dataclass(frozen=True)
class Own:
    """A path that stands for sources of the project, what it is, and what to do instead."""

    path: str
    what: str
    instead: str


@dataclass(frozen=True)
class Sources:
    """The base's files, by path; `seen` is where set-up saw them."""

    root: Path
    files: Collection[str]
    seen: str
    read: Callable[[str], bytes]

    @cached_property
    def sums(self) -> Mapping[tuple[int, str], list[str]]:
        """Paths by size and digest, without what says too little."""
        found: dict[tuple[int, str], list[str]] = {}
        known = tuple(ending for checks in own_code_checks() for ending in checks.by_content)
        for path in self.files:
            if not path.endswith(known):
                continue
            data = self.read(path)
            if len(data) >= SMALL:
                found.setdefault((len(data), hashlib.sha256(data).hexdigest()), []).append(path)
        return found

    @cached_property
    def sizes(self) -> frozenset[int]:
        return frozenset(size for size, _ in self.sums)

    @cached_property
    def checksums(self) -> Mapping[tuple[int, int], str]:
        """As an archive names its members' content."""
        python = [path for path in self.files if path.endswith(".py")]
        read = {path: self.read(path) for path in python}
        return {(len(data), zlib.crc32(data)): path for path, data in read.items() if len(data) >= SMALL}

    @cached_property
    def import_roots(self) -> tuple[str, ...]:
        """Folders from which Python's packages of this project are imported, each with a slash at its end."""
        projects = {posixpath.dirname(path) for path in self.files if posixpath.basename(path) in PROJECT_FILES} | {""}
        return tuple(f"{folder}/{layout}".lstrip("/") for folder in projects for layout in LAYOUTS)

    @cached_property
    def modules(self) -> tuple[bytes, ...]:
        """Go's names of the modules in this tree."""
        texts = [self.read(path) for path in self.files if posixpath.basename(path) == "go.mod"]
        return tuple(found[1] for text in texts if (found := re.search(rb"^module\s+(\S+)", text, re.MULTILINE)))

    @cached_property
    def compiles(self) -> bool:
        return any(path.endswith(COMPILED_FROM) for path in self.files)

    def same(self, path: Path) -> list[str]:
        """The base's files with exactly this content."""
        try:
            size = path.stat().st_size
            if size not in self.sizes or not path.is_file():
                return []
            return self.sums.get((size, hashlib.sha256(path.read_bytes()).hexdigest()), [])
        except OSError:
            return []


Check = Callable[[Sources, Path, str], Own | None]
"""A path and its name in the tree, looked at."""


@dataclass(frozen=True)
class OwnCode:
    """One stack's checks of what set-up made: among packages of others, outside of them, and in set-up's HOME."""

    in_packages: tuple[Check, ...] = ()
    outside: tuple[Check, ...] = ()
    at_home: tuple[Check, ...] = ()
    by_content: tuple[str, ...] = ()
    """Endings of sources that are known by what they say."""


def own_code_checks() -> list[OwnCode]:
    return [stack.own_code() for stack in REGISTRY.values() if stack.own_code is not None]
