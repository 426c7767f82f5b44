"""Refs of a repository of ours: libgit2 reads and moves them, git does what is not simple.

They are moved as git moves them: each is locked by its `<ref>.lock`, compared under that lock, and replaced by renaming
it. So a git that fetches, packs or deletes refs at the same moment keeps out of the way, and we of its. Left to `git
update-ref` is whatever libgit2 does less safely: a deletion (it writes `packed-refs` from what it read before it locked
it, so that a ref packed meanwhile would be lost), a name that is a folder of another's (its transactions don't look),
a symbolic ref, a lock that is there already.
"""

import os
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from pygit2 import Oid, Repository

from damascus.domain.errors import TransientError
from damascus.domain.ids import SHA_PATTERN, Sha
from damascus.domain.ports import Stale
from damascus.git.commands import Git, GitResult, raise_for
from damascus.git.objects import Objects
from damascus.git.opened import LibraryError, OpenedRepository
from damascus.git.stores import LOCK_POLL
from damascus.git.trees import parents

BRANCHES = "refs/heads/"
PLAIN = re.compile(r"refs(?:/[A-Za-z0-9_][A-Za-z0-9_-]*(?:\.[A-Za-z0-9_-]+)*)+")
"""Names that are a path as they are and a ref to every git. Others may be too; git knows."""
NOTHING = "0" * 40
LOCK_THERE = re.compile(r"Unable to create '(.+?\.lock)': File exists")
ORPHAN_PATIENCE = 1.0
STALE = re.compile(r"but expected|reference already exists|reference is missing|unable to resolve reference")


@dataclass(frozen=True)
class RefMove:
    """One guarded move: `old` None means it must not exist, `new` None means delete."""

    ref: str
    new: Sha | None
    old: Sha | None

    def command(self) -> bytes:
        """What `git update-ref --stdin -z` reads."""
        if self.new is None:
            verb = f"delete {self.ref}\0{self.old}\0" if self.old else f"verify {self.ref}\0{NOTHING}\0"
        else:
            verb = f"update {self.ref}\0{self.new}\0{self.old or NOTHING}\0"
        return os.fsencode(verb)


class NotSimple(Exception):
    """For git to say."""


class Refs:
    """The refs of one repository of ours. Whoever moves them holds a lock of ours (git/mirror.py)."""

    def __init__(self, git: Git, objects: Objects) -> None:
        self.git, self.objects = git, objects
        self.opened = OpenedRepository(git.git_dir)

    def at(self, ref: str) -> Sha | None:
        """Where a ref, or another name of a commit, stands; None: nowhere."""
        if ref.startswith("refs/"):
            try:
                with self.opened.use() as repository:
                    return value(repository, ref)
            except (LibraryError, NotSimple):
                pass
        if not self.git.git_dir.is_dir():
            return None
        result = self.git.run("rev-parse", "--verify", "--quiet", "--end-of-options", ref, check=False)
        return Sha(result.text) if result.code == 0 and SHA_PATTERN.fullmatch(result.text) else None

    def below(self, prefix: str) -> dict[str, Sha]:
        """By git, which reads that folder only; libgit2 reads the file of every ref there is."""
        lines = self.git.out("for-each-ref", "--format=%(objectname) %(refname)", prefix).splitlines()
        return {name: Sha(sha) for sha, _, name in (line.partition(" ") for line in lines)}

    def tips(self) -> list[Sha]:
        """Where refs stand; none also where libgit2 can't tell."""
        try:
            with self.opened.use() as repository:
                return [Sha(str(ref.target)) for ref in repository.listall_reference_objects()]
        except LibraryError:
            return []

    def move(self, moves: Sequence[RefMove]) -> None:
        """All or none, each only from what it was; Stale if one is something else."""
        if not self._moved(moves):
            self._move_by_git(moves)

    def _moved(self, moves: Sequence[RefMove]) -> bool:
        try:
            with self.opened.use() as repository:
                return move(repository, moves, self.objects.kind)
        except LibraryError:  # it can't be opened
            return False

    def _move_by_git(self, moves: Sequence[RefMove]) -> None:
        data = b"start\0" + b"".join(move.command() for move in moves) + b"prepare\0commit\0"
        args = ("update-ref", "--stdin", "-z")
        result = self.git.run(*args, data=data, check=False)
        for _ in moves:  # whoever was killed may have left a lock of each
            if result.code == 0 or not _remove_orphaned_lock(self.git.git_dir, result.stderr):
                break
            result = self.git.run(*args, data=data, check=False)
        if result.code != 0:
            _raise_stale(args, result)


def value(repository: Repository, ref: str) -> Sha | None:
    """Where a ref stands; None: there is no such ref. LibraryError, NotSimple: ask git."""
    try:
        target = repository.lookup_reference(ref).target
    except KeyError:
        return None
    except ValueError as err:  # a name that is none, or not in UTF-8
        raise NotSimple from err
    if not isinstance(target, Oid):
        raise NotSimple
    return Sha(str(target))


def move(repository: Repository, moves: Sequence[RefMove], kind_of: Callable[[Sha], str | None]) -> bool:
    """All or none, each only from what it was; Stale if one is something else. False: nothing moved, ask git.

    `kind_of` tells what an id is, None if there is no such object. Killed between two renames, some have moved and the
    locks of the rest are left: the same that a killed git leaves.
    """
    names = {one.ref for one in moves}
    if len(names) < len(moves) or any(folder in names for name in names for folder in parents(name)):
        return False
    if not all(_is_plain(one, kind_of) for one in moves):
        return False
    try:
        _commit(repository, moves)
    except NotSimple:
        return False
    except (LibraryError, OSError) as err:  # while it was written: a full disk
        if any(one.new != one.old and value(repository, one.ref) == one.new for one in moves):
            raise TransientError(f"some refs of {repository.path} moved, the others could not: {err}") from err
        return False
    return True


def _commit(repository: Repository, moves: Sequence[RefMove]) -> None:
    """All are locked, then all compared, then all set. An exception leaves no lock."""
    with repository.transaction() as locked:
        try:
            for one in moves:
                locked.lock_ref(one.ref)
            for one in moves:
                _compare(repository, one)
        except (LibraryError, OSError) as err:  # a lock or a folder in the way, a full disk: git says it in its words
            raise NotSimple from err
        for one in moves:
            assert one.new is not None
            locked.set_target(one.ref, one.new)


def _is_plain(one: RefMove, kind_of: Callable[[Sha], str | None]) -> bool:
    if one.new is None or not PLAIN.fullmatch(one.ref) or one.ref.endswith(".lock"):
        return False
    kind = kind_of(one.new)
    return kind == "commit" or (kind is not None and not one.ref.startswith(BRANCHES))


def _compare(repository: Repository, one: RefMove) -> None:
    """Under the ref's lock, without which nobody prunes it."""
    at = value(repository, one.ref)
    if at is None and _in_the_way(repository, one.ref):
        raise NotSimple
    if at != one.old:
        raise Stale(f"{one.ref} is at {at} but expected {one.old}")


def _in_the_way(repository: Repository, ref: str) -> bool:
    """A packed ref whose name is a folder of this one's, or the other way round. One that is a file is in the way of
    the lock already."""
    if any(value(repository, folder) is not None for folder in parents(ref)[1:]):
        return True
    try:
        packed = Path(repository.path, "packed-refs").read_bytes()
    except FileNotFoundError:
        return False
    return f" {ref}/".encode() in packed


def _remove_orphaned_lock(git_dir: Path, stderr: str) -> bool:
    """Whoever was killed inside a transaction leaves `<ref>.lock`. We alone move these refs, one process at a time, so
    a lock that is there while we hold ours, and does not go away, belongs to nobody."""
    found = LOCK_THERE.search(stderr)
    if found is None:
        return False
    lock = Path(found[1]) if found[1].startswith("/") else git_dir / found[1]
    deadline = time.monotonic() + ORPHAN_PATIENCE
    while lock.exists() and time.monotonic() < deadline:
        time.sleep(LOCK_POLL)
    lock.unlink(missing_ok=True)
    return True


def _raise_stale(args: tuple[str, ...], result: GitResult) -> None:
    if STALE.search(result.stderr):
        raise Stale(result.stderr.strip())
    raise_for(args, result)
