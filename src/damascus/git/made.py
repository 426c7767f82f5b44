"""What a set-up command made in its template checkout: which paths, which of them are laid elsewhere, and how.

Kept is what it made and nothing of the base: a path that leads to the template's sources leads nowhere, so that no
command is ever judged by them.
"""

import hashlib
import json
import mmap
import os
import stat
import subprocess
import sys
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from damascus.domain.errors import DamascusError
from damascus.git.workspaces import delete
from damascus.stacks.others import names

RECORD = "made.json"
CACHES = frozenset(names(lambda footprint: footprint.remade))
"""Remade by whoever needs them. LaidBySetup beside a candidate's sources they could stand for the base's."""
CACHE_MARK = "CACHEDIR.TAG"
COPY = ("cp", "-a", *(("--reflink=auto",) if sys.platform == "linux" else ()), "--")
STALE = names(lambda footprint: footprint.stale)
PACKAGES = names(lambda footprint: footprint.packages)
PACKAGE_MARKS = names(lambda footprint: footprint.package_marks)


@dataclass(frozen=True)
class MadeBySetup:
    """`folder` holds `roots`, the outermost paths that the command made; `home` is its HOME. `refers`: one that names
    the place where it was made, so that it means nothing elsewhere; "" if none does. `content` is its hash: "" if it
    was made by a release that took none."""

    folder: Path
    home: Path
    roots: tuple[str, ...]
    refers: str = ""
    content: str = ""

    @classmethod
    def read(cls, place: Path) -> "MadeBySetup | None":
        try:
            found = json.loads((place / RECORD).read_text())
        except FileNotFoundError:
            return None
        return cls(place / "made", place / "home", tuple(found["roots"]), found["refers"], found.get("content", ""))

    def record(self, place: Path) -> None:
        aside = place / f"{RECORD}.new"
        aside.write_text(json.dumps({"roots": self.roots, "refers": self.refers, "content": self.content}))
        aside.rename(place / RECORD)

    def lay(self, checkout: Path) -> None:
        """Where no file is. The candidate's own are in the checkout already, and stay."""
        for name in self.roots:
            lay(self.folder / name, checkout / name, name)


@dataclass(frozen=True)
class LaidBySetup:
    """What every checkout of a base gets beside its files: a hash of what set-up made, and the files of `copy`."""

    made: str
    copied: Mapping[str, bytes]


def is_as_laid(source: Path, found: Path) -> bool:
    """Is this the file that was laid here? `cp -a` keeps times, so few are read. Whoever sets a time back to hide a
    change hides it from what is judged and landed as well."""
    try:
        one, other = source.lstat(), found.lstat()
        if stat.S_IFMT(one.st_mode) != stat.S_IFMT(other.st_mode) or one.st_size != other.st_size:
            return False
        if source.is_symlink():
            return os.readlink(source) == os.readlink(found)
        return one.st_mtime_ns == other.st_mtime_ns or source.read_bytes() == found.read_bytes()
    except OSError:
        return False


def made_in(tree: Path, before: Collection[str]) -> tuple[str, ...]:
    """The outermost paths that were not there before. Caches of what the base has are taken away."""
    roots = []
    for folder, folders, files in os.walk(tree):
        inside = os.path.relpath(folder, tree)
        for name in [*folders, *files]:
            path = name if inside == "." else f"{inside}/{name}"
            if path in before:
                continue
            if name in folders:
                folders.remove(name)
            if is_cache(tree / path):
                remove(tree / path)
            else:
                roots.append(path)
    return tuple(sorted(roots))


def is_cache(path: Path) -> bool:
    """Of a folder, or of one file."""
    if path.is_symlink():
        return False
    return path.name in CACHES or path.suffix in STALE or (path / CACHE_MARK).is_file()


def keep_only(tree: Path, roots: Collection[str]) -> None:
    """Take away all but what was made."""
    kept, above = set(roots), {folder for path in roots for folder in _above(path)}
    for folder, folders, files in os.walk(tree):
        inside = os.path.relpath(folder, tree)
        for name in [*folders, *files]:
            path = name if inside == "." else f"{inside}/{name}"
            if path in above:
                continue
            if name in folders:
                folders.remove(name)
            if path not in kept:
                remove(tree / path)


def remove(path: Path) -> None:
    delete(path) if path.is_dir() else path.unlink()


def entries(tree: Path) -> set[str]:
    found = set()
    for folder, folders, files in os.walk(tree):
        found |= {str(Path(folder, name).relative_to(tree)) for name in (*folders, *files)}
    return found


def first_reference(tree: Path, roots: Collection[str]) -> str:
    """The first path that was made and names the folder it was made in, as text or as a link; "" if none does."""
    names = {os.fsencode(name) for name in (str(tree), os.path.realpath(tree))}
    for root in roots:
        for path in files_below(tree / root):
            if _leads_out(path, tree) if path.is_symlink() else _mentions(path, names):
                return str(path.relative_to(tree))
    return ""


def content_of(folder: Path, roots: Collection[str]) -> str:
    """A hash of all that was made, caches and times left out: two hosts that were given the same have the same."""
    state = hashlib.sha256()
    for path in sorted(path for root in roots for path in files_below(folder / root)):
        inside = path.relative_to(folder)
        if any(part in CACHES for part in inside.parts) or path.suffix in STALE:
            continue
        state.update(os.fsencode(f"{inside}\0"))
        state.update(_digest(path))
    return state.hexdigest()


def _digest(path: Path) -> bytes:
    if path.is_symlink():
        return b"to " + os.fsencode(os.readlink(path))
    if not path.is_file():
        return b"special"
    with path.open("rb") as file:
        mode = b"x" if os.fstat(file.fileno()).st_mode & stat.S_IXUSR else b"-"
        return mode + hashlib.file_digest(file, "sha256").digest()


def files_below(path: Path) -> Iterator[Path]:
    """A file itself, or every file and link below a folder."""
    if path.is_symlink() or not path.is_dir():
        yield path
        return
    for folder, folders, files in os.walk(path):
        yield from (Path(folder, name) for name in files)
        yield from (linked for name in folders if (linked := Path(folder, name)).is_symlink())


def _leads_out(link: Path, tree: Path) -> bool:
    """An absolute link into the tree, or a relative one out of it: both mean something else elsewhere."""
    target = os.readlink(link)
    inside = Path(os.path.normpath(link.parent / target)).is_relative_to(tree)
    return inside if os.path.isabs(target) else not inside


def _mentions(path: Path, names: Collection[bytes]) -> bool:
    try:
        with path.open("rb") as file:
            if not os.fstat(file.fileno()).st_size:
                return False
            with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as text:
                return any(text.find(name) >= 0 for name in names)
    except (OSError, ValueError):  # a socket, a pipe, nothing that could be read by a command either
        return False


def _above(path: str) -> Iterator[str]:
    while path := os.path.dirname(path):
        yield path


def lay(source: Path, target: Path, name: str) -> None:
    """A folder of packages is laid as a whole or not at all: files that a candidate put there would pass for packages
    of the project's own choice."""
    if not os.path.lexists(target):
        target.parent.mkdir(parents=True, exist_ok=True)
        subprocess.run([*COPY, str(source), str(target)], check=True, start_new_session=True)
    elif holds_packages(source):
        raise DamascusError(
            f"the candidate has files at {name}, which the set-up command of [workspace] makes. Take them out of the "
            "story's scope, or keep set-up from making that folder; then retry."
        )
    elif source.is_dir() and not source.is_symlink() and target.is_dir() and not target.is_symlink():
        for each in sorted(os.listdir(source)):
            lay(source / each, target / each, f"{name}/{each}")


def holds_packages(folder: Path) -> bool:
    """Of others: a virtual environment, installed packages of Node, vendored ones of Go, Rust and PHP."""
    if folder.is_symlink() or not folder.is_dir():
        return False
    return folder.name in PACKAGES or any((folder / mark).is_file() for mark in PACKAGE_MARKS)
