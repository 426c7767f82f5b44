"""Refs of the mirror, read and moved without a process where that is simple.

They are moved as git moves them: each is locked by its `<ref>.lock`, compared, and replaced by renaming that lock. So a
git that fetches, packs or deletes refs at the same moment keeps out of the way, and we of its. What is not simple (a
deletion, a name that is a folder, a symbolic ref, a lock that is there already) is left to `git update-ref`.
"""

import os
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from damascus.domain.ids import SHA_PATTERN, Sha
from damascus.domain.ports import Stale
from damascus.git.repository import loose_ref

BRANCHES = "refs/heads/"
PLAIN = re.compile(r"refs(?:/[A-Za-z0-9_][A-Za-z0-9_-]*(?:\.[A-Za-z0-9_-]+)*)+")
"""Names that are a path as they are and a ref to every git. Others may be too; git knows."""
NOTHING = "0" * 40


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


def loose(git_dir: Path, ref: str) -> Sha | None:
    """A loose ref always wins over a packed one, so it may be read as it lies there."""
    return loose_ref(git_dir, ref) if ref.startswith("refs/") and ".." not in ref else None


def packed(git_dir: Path, ref: str) -> Sha | None:
    found = re.search(rf"^({SHA_PATTERN.pattern}) {re.escape(ref)}$", _packed_refs(git_dir), re.MULTILINE)
    return Sha(found[1]) if found else None


def move(git_dir: Path, moves: Sequence[RefMove], kind_of: Callable[[Sha], str | None]) -> bool:
    """All or none, each only from what it was; Stale if one is something else. False: nothing moved, ask git.

    `kind_of` tells what an id is, None if there is no such object. Killed between two renames, some have moved and the
    locks of the rest are left: the same that a killed git leaves.
    """
    if not all(_is_plain(one, kind_of) for one in moves) or len({one.ref for one in moves}) < len(moves):
        return False
    locks: list[tuple[Path, Path]] = []
    moved: list[tuple[Path, Path]] = []
    try:
        for one in moves:
            target = git_dir / one.ref
            target.parent.mkdir(parents=True, exist_ok=True)
            lock = target.with_name(f"{target.name}.lock")
            with open(lock, "x", encoding="ascii") as file:
                locks.append((lock, target))
                file.write(f"{one.new}\n")
            if not _was(git_dir, one):
                return False
        while locks:
            os.replace(*locks[0])
            moved.append(locks.pop(0))
        return True
    except OSError:  # a lock or a folder in the way, a full disk: git says it in its own words
        if moved:
            raise
        return False
    finally:
        for lock, _ in locks:
            with suppress(OSError):
                lock.unlink()


def _is_plain(one: RefMove, kind_of: Callable[[Sha], str | None]) -> bool:
    if one.new is None or not PLAIN.fullmatch(one.ref) or one.ref.endswith(".lock"):
        return False
    kind = kind_of(one.new)
    return kind == "commit" or (kind is not None and not one.ref.startswith(BRANCHES))


def _was(git_dir: Path, one: RefMove) -> bool:
    """Is it what it has to be? False: not for us to say. Read under the ref's lock, without which nobody prunes it."""
    if os.path.lexists(git_dir / one.ref):
        at = loose(git_dir, one.ref)
        if at is None:
            return False
    else:
        at = packed(git_dir, one.ref)
        if at is None and _in_the_way(git_dir, one.ref):
            return False
    if at != one.old:
        raise Stale(f"{one.ref} is at {at} but expected {one.old}")
    return True


def _in_the_way(git_dir: Path, ref: str) -> bool:
    """A packed ref whose name is a folder of this one's, or the other way round."""
    names = [line.partition(" ")[2] for line in _packed_refs(git_dir).splitlines()]
    return any(name and (name.startswith(f"{ref}/") or ref.startswith(f"{name}/")) for name in names)


def _packed_refs(git_dir: Path) -> str:
    try:
        return (git_dir / "packed-refs").read_text(encoding="utf-8", errors="surrogateescape")
    except FileNotFoundError:
        return ""
