"""Git's objects as they lie on the disk: read, compared with their names, written.

Commits, blobs and edited trees are written here as loose objects (the format has not changed since 2005), and loose
ones are read here. What lies in a pack is asked of one `git cat-file --batch` that stays (git/reader.py). Git itself
hardly ever compares what it reads with its name; we always do. What a disk damaged is never judged: it is set aside,
so that no git serves it either, and brought again from where it came.

Not by libgit2: it loops for ever, with Python's lock held, on a file that was cut short and on some damaged packs, and
tells of a full disk as if it were the error before (docs/decisions/0013).
"""

import hashlib
import os
import tempfile
import zlib
from collections import OrderedDict
from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from damascus.domain.errors import TransientError
from damascus.domain.ids import SHA_PATTERN, Sha
from damascus.git.commands import Git
from damascus.git.reader import Reader

ASSURED_KEPT = 50_000
FEW = 1000
DAMAGED = "damaged"
K = TypeVar("K")
V = TypeVar("V")


@dataclass(frozen=True)
class GitObject:
    """One object and its kind: commit, tree, blob or tag."""

    kind: str
    sha: Sha
    data: bytes


class Recent(OrderedDict[K, V]):
    """The last few answers about ids, which never change their meaning. Read only."""

    def __init__(self, kept: int) -> None:
        super().__init__()
        self.kept = kept

    def keep(self, key: K, value: V) -> V:
        self[key] = value
        while len(self) > self.kept:
            self.popitem(last=False)
        return value


class Disk:
    """The objects of one repository of ours, and of the one whose objects it borrows: read, but never written."""

    def __init__(self, git: Git, borrowed: Path | None = None) -> None:
        self.git_dir = git.git_dir
        self.folder = git.git_dir / "objects"
        self.bring_again: Callable[[Sha], GitObject | None] = lambda sha: None
        """Asked for an object that was damaged."""
        self._folders = (self.folder,) if borrowed is None else (self.folder, borrowed)
        self._reader = Reader(git)
        self._damaged: set[str] = set()
        self._assured: Recent[str, tuple[int, int, int]] = Recent(ASSURED_KEPT)

    # ── read ──────────────────────────────────────────────────────────────────────────────────────

    def read(self, sha: str) -> GitObject | None:
        """None: no such object. TransientError: it is damaged, and can't be had from elsewhere at this moment."""
        if not SHA_PATTERN.fullmatch(sha):
            return None
        return self._loose(sha) or self._packed(sha) or self._brought_again(sha)

    def _loose(self, sha: str) -> GitObject | None:
        return next((found for folder in self._folders if (found := self._loose_in(folder, sha))), None)

    def _loose_in(self, folder: Path, sha: str) -> GitObject | None:
        file = _file(folder, sha)
        try:
            with open(file, "rb") as loose:
                raw = zlib.decompress(loose.read())
        except OSError:
            return None
        except zlib.error:
            raw = b""
        if _digest(raw) != sha:
            self._set_aside(file, sha)
            return None
        head, _, data = raw.partition(b"\0")
        return GitObject(head.split(b" ")[0].decode(), Sha(sha), data)

    def _packed(self, sha: str) -> GitObject | None:
        try:
            answer = self._reader.object(sha)
        except EOFError:  # it died of what it found
            self._damaged.add(sha)
            return None
        if answer is None:
            return None
        if _digest(_framed(*answer)) != sha:
            self._damaged.add(sha)
            return None
        return GitObject(answer[0], Sha(sha), answer[1])

    def forget(self) -> None:
        """A reader that began before its alternate was there never finds it."""
        self._reader.close()

    # ── damage ────────────────────────────────────────────────────────────────────────────────────

    def assure(self, shas: Collection[Sha]) -> None:
        """What of these is loose is what its name says. For trees that git is about to check out."""
        for folder in self._folders:
            there = shas if len(shas) < FEW else _loose_names(folder).intersection(shas)
            for sha in there:
                file = _file(folder, sha)
                mark = _mark(file)
                if mark is None or self._assured.get(file) == mark:
                    continue
                if self._loose_in(folder, sha) is None:
                    self.read(sha)
                else:
                    self._assured.keep(file, mark)

    def _set_aside(self, file: str, sha: str) -> None:
        self._damaged.add(sha)
        place = self.git_dir / DAMAGED
        with suppress(FileNotFoundError):
            place.mkdir(exist_ok=True)
            os.replace(file, place / sha)

    def _brought_again(self, sha: str) -> GitObject | None:
        if sha not in self._damaged:
            return None
        found = self.bring_again(Sha(sha))
        if found is None or self.write(found.kind, found.data) != sha:
            raise TransientError(f"{sha} in {self.git_dir} was damaged on the disk, and has to be fetched again")
        self._damaged.discard(sha)
        return found

    # ── write ─────────────────────────────────────────────────────────────────────────────────────

    def write(self, kind: str, data: bytes, *, durable: bool = False) -> Sha:
        raw = _framed(kind, data)
        sha = _digest(raw)
        target = _file(self.folder, sha)
        try:
            os.utime(target)  # as git does: a fresh date keeps it from a prune that runs just now
        except FileNotFoundError:
            self._place(target, zlib.compress(raw, 1), durable)
        return Sha(sha)

    def _place(self, target: str, packed: bytes, durable: bool) -> None:
        handle, temporary = tempfile.mkstemp(prefix="tmp_obj_", dir=self.folder)  # git's own prefix: gc knows it
        try:
            with open(handle, "wb") as file:
                file.write(packed)
                os.fchmod(handle, 0o444)
                if durable:
                    file.flush()
                    os.fsync(handle)
            with suppress(FileExistsError):
                os.mkdir(os.path.dirname(target))
            os.replace(temporary, target)
        except OSError:  # on a full disk every try would leave some of it
            with suppress(OSError):
                os.unlink(temporary)
            raise


def _file(folder: Path, sha: str) -> str:
    """Text and no Path: a story asks for hundreds, and to put a Path together takes longer than to open the file."""
    return f"{folder}/{sha[:2]}/{sha[2:]}"


def _framed(kind: str, data: bytes) -> bytes:
    return f"{kind} {len(data)}".encode() + b"\0" + data


def _digest(raw: bytes) -> str:
    return hashlib.sha1(raw, usedforsecurity=False).hexdigest()


def _mark(file: str) -> tuple[int, int, int] | None:
    """Something that differs once the file was written or replaced."""
    try:
        at = os.stat(file)
    except OSError:
        return None
    return at.st_ino, at.st_mtime_ns, at.st_size


def _loose_names(folder: Path) -> set[str]:
    names: set[str] = set()
    for n in range(256):
        with suppress(FileNotFoundError):
            names.update(f"{n:02x}{name}" for name in os.listdir(f"{folder}/{n:02x}"))
    return names
