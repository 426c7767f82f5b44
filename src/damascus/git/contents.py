"""What lies in a folder that an agent wrote, and how it becomes a tree.

We walk the folder ourselves: git would store a nested repository as a link and lose its content, would read the
agent's .gitignore, and would wait for ever at a named pipe called .gitattributes. Git only gets a list of paths, an
index of ours and the mirror as its git dir; what the folder's own .git says is never looked at.
"""

import os
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from pathlib import Path

from damascus.domain.errors import GitError, TransientError
from damascus.domain.ids import Sha, StoryId
from damascus.domain.names import gits_file, is_git
from damascus.domain.scope import GLOB_CHARS, Scope
from damascus.git.excludes import HEAVY_FOLDERS, Rules, rules_from
from damascus.git.listings import TreeListing
from damascus.git.mirror import Mirror
from damascus.system.scratch import scratch_folder

READ_TRIES = 3
MEGABYTE = 1_000_000
NOTHING_NAMED = Scope(())


@dataclass(frozen=True)
class Room:
    """How much a story may add, by apparent size: a sparse file costs its writer nothing and its reader hours."""

    file: int = 50 * MEGABYTE
    tree: int = 500 * MEGABYTE
    files: int = 100_000


@dataclass
class Contents:
    """The paths found, sorted into what counts, what stays as in the base because it is too big to be looked at,
    what is ignored (with its size), what cannot be stored, and what the story may not add (each with the reason)."""

    counted: list[str] = field(default_factory=list)
    as_base: list[str] = field(default_factory=list)
    ignored: list[tuple[str, int]] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    refused: dict[str, str] = field(default_factory=dict)
    new: dict[str, int] = field(default_factory=dict)
    """What the base lacks, with its size."""
    grown: dict[str, int] = field(default_factory=dict)
    """What the base has, with its size now."""

    def refuse(self, path: str, why: str) -> None:
        self.refused[path] = why
        self.left_out.append(f"{path} ({why})")


@dataclass(frozen=True)
class WrittenTree:
    """A tree, and the paths that could not be read into it."""

    tree: Sha
    unreadable: list[str]


@dataclass(frozen=True)
class Walk:
    """One look at a folder. `into_ignored`: also go where nothing counts (for snapshots). `named`: the story's scope;
    what it names counts, whatever is ignored. `as_laid`: is an untracked file just as set-up made it?"""

    folder: Path
    base: TreeListing
    rules: Rules
    into_ignored: bool
    named: Scope = NOTHING_NAMED
    room: Room = Room()
    base_size: Callable[[str], int] = lambda path: 0
    as_laid: Callable[[str], bool] = lambda path: False

    def contents(self) -> Contents:
        found = Contents()
        self._walk(found)
        self._bound(found)
        return found

    def _walk(self, found: Contents) -> None:
        todo = [("", "")] if not self.folder.is_symlink() else []
        while todo:
            prefix, ignored = todo.pop()
            for entry in _scan(self.folder / prefix, prefix, found):
                below = self._look(entry, prefix + entry.name, ignored, found)
                if below is not None:
                    todo.append(below)

    def _bound(self, found: Contents) -> None:
        """What a story adds has an end; the smallest files stay, so that a snapshot keeps what a person wrote."""
        sizes = found.new | self._more_than_base(found.grown)
        total = sum(sizes.values())
        if total <= self.room.tree and len(sizes) <= self.room.files:
            return
        what = f"{total // MEGABYTE} MB in {len(sizes)} files are more than a story may add"
        size = 0
        for kept, (path, each) in enumerate(sorted(sizes.items(), key=lambda row: (row[1], row[0])), 1):
            size += each
            if size > self.room.tree or kept > self.room.files:
                found.refuse(path, what)
                found.as_base.append(path)
        found.counted = [path for path in found.counted if path not in found.refused]

    def _more_than_base(self, grown: dict[str, int]) -> dict[str, int]:
        """Only looked up where all that is tracked is more than may be added: reading sizes takes time too."""
        if sum(grown.values()) <= self.room.tree:
            return {}
        more = {path: size - self.base_size(path) for path, size in grown.items() if size > MEGABYTE}
        return {path: size for path, size in more.items() if size > 0}

    def _look(self, entry: os.DirEntry[str], path: str, ignored: str, found: Contents) -> tuple[str, str] | None:
        """Sort one entry; a folder to go into is returned, with the folder by which it is ignored."""
        if entry.name == ".git" or path in self.base.gitlinks:
            return None
        if is_git(entry.name):
            found.refuse(path, "git's own, in disguise")
            return None
        if entry.is_dir(follow_symlinks=False):
            return self._folder(entry.name, path, ignored, found)
        if entry.is_symlink() or entry.is_file():
            self._file(entry, path, ignored, found)
        else:
            _drop_special(entry, path, found)
        return None

    def _folder(self, name: str, path: str, ignored: str, found: Contents) -> tuple[str, str] | None:
        ignored = ignored or (f"{path}/" if self.rules.ignore(path, folder=True) else "")
        named = any(word.startswith(f"{path}/") for word in self._words)
        if ignored and path not in self.base.folders and not named and not self._counts(f"{path}/x", ignored):
            if not self.into_ignored:
                return None
            if name in HEAVY_FOLDERS:
                found.left_out.append(f"{path}/ (dependencies or cache)")
                return None
        return f"{path}/", ignored

    def _counts(self, path: str, ignored: str) -> bool:
        """Though its folder is ignored: the base tracks files there and the scope allows this one, or the scope names
        the folder in so many words. A package may be called venv, build or target."""
        if ignored.rstrip("/") in self.base.folders and self.named.allows(path):
            return True
        return any(word.startswith(ignored) and word.endswith("/") and path.startswith(word) for word in self._words)

    @cached_property
    def _words(self) -> tuple[str, ...]:
        return tuple(entry for entry in self.named.patterns if not GLOB_CHARS.search(entry))

    def _file(self, entry: os.DirEntry[str], path: str, ignored: str, found: Contents) -> None:
        try:
            size = entry.stat(follow_symlinks=False).st_size
        except OSError:
            return
        tracked = path in self.base.files or path in self.base.folders  # in a folder's place it is a change too
        if entry.is_symlink() and gits_file(entry.name) and not tracked:
            found.refuse(path, "a link in the place of git's own file")
        elif not tracked and path not in self._words and self._ignored(path, ignored):
            found.ignored.append((path, size))
        elif size > self.room.file:
            self._huge(path, size, tracked, found)
        else:
            found.counted.append(path)
            (found.grown if tracked else found.new)[path] = size

    def _ignored(self, path: str, ignored: str) -> bool:
        by_rule = bool(ignored and not self._counts(path, ignored)) or self.rules.ignore(path, folder=False)
        return by_rule or self.as_laid(path)

    def _huge(self, path: str, size: int, tracked: bool, found: Contents) -> None:
        """What the base has as large stays as it is, unread."""
        if tracked and self.base_size(path) > self.room.file:
            found.left_out.append(f"{path} ({size // MEGABYTE} MB)")
        else:
            found.refuse(path, f"{size // MEGABYTE} MB, more than {self.room.file // MEGABYTE} MB")
        found.as_base.append(path)


def base_sizes(mirror: Mirror, base: TreeListing) -> Callable[[str], int]:
    def size(path: str) -> int:
        entry = base.files.get(path)
        found = mirror.objects.find([entry.sha])[0] if entry is not None else None
        return len(found.data) if found is not None else 0

    return size


def _scan(folder: Path, prefix: str, found: Contents) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except PermissionError:
        if _granted(folder, stat.S_IRWXU):
            return _scan(folder, prefix, found)
        found.left_out.append(f"{prefix} (unreadable)")
    except (FileNotFoundError, NotADirectoryError):
        pass
    except OSError as err:  # such as a path that is too long
        found.left_out.append(f"{prefix} ({err.strerror})")
    return []


def _granted(path: Path, bits: int) -> bool:
    """Give ourselves what the owner may have; False if that changes nothing."""
    try:
        mode = stat.S_IMODE(path.lstat().st_mode)
        if mode & bits == bits or path.is_symlink():
            return False
        path.chmod(mode | bits)
    except OSError:
        return False
    return True


def _drop_special(entry: os.DirEntry[str], path: str, found: Contents) -> None:
    """Pipes, sockets and devices are no content. One that git would open as its attributes is removed."""
    found.left_out.append(f"{path} (not a file)")
    if entry.name == ".gitattributes":
        _granted(Path(entry.path).parent, stat.S_IRWXU)
        with suppress(OSError):
            os.unlink(entry.path)


def base_rules(mirror: Mirror, base: TreeListing) -> Rules:
    ignores = sorted(path for path in base.files if path.rpartition("/")[2] == ".gitignore")
    return _rules(mirror, tuple((path, base.files[path].sha) for path in ignores))


@lru_cache(maxsize=32)
def _rules(mirror: Mirror, files: tuple[tuple[str, Sha], ...]) -> Rules:
    blobs = mirror.objects.find([sha for _, sha in files])
    return rules_from({path: blob.data for (path, _), blob in zip(files, blobs, strict=True) if blob is not None})


def stat_index(mirror: Mirror, story: StoryId, base: Sha) -> Path:
    """Git's index of a workspace as we checked it out, kept out of the agent's reach.

    What was written a second or more before the index need not be read again to know that it is unchanged.
    """
    return mirror.store / "damascus-indexes" / f"{story}@{base}"


@contextmanager
def seeded_index(mirror: Mirror, story: StoryId, base: Sha) -> Iterator[Path]:
    """A throw-away index with the base's files in it."""
    with tempfile.TemporaryDirectory(prefix="damascus-index-", dir=scratch_folder()) as scratch:
        index = Path(scratch) / "index"
        try:
            shutil.copy2(stat_index(mirror, story, base), index)  # with its date: git tells racy entries by it
        except FileNotFoundError:
            mirror.git.run("read-tree", base, index=index)
        yield index


@dataclass(frozen=True)
class TreeWriter:
    """Turns paths of a folder into a tree of the mirror."""

    mirror: Mirror
    folder: Path
    story: StoryId
    base: Sha

    def write(self, paths: list[str], as_base: list[str]) -> WrittenTree:
        unreadable: list[str] = []
        for _ in range(READ_TRIES):
            try:
                return WrittenTree(self._write(paths, [*as_base, *unreadable]), unreadable)
            except GitError as err:
                if "Unable to process path" not in err.stderr:
                    raise
            unreadable = [path for path in paths if not _readable(self.folder / path)]
            paths = [path for path in paths if path not in set(unreadable)]
        raise TransientError(f"{self.folder} changes while it is read")

    def _write(self, paths: list[str], as_base: list[str]) -> Sha:
        gone = self.mirror.listing(self.base).files.keys() - set(paths) - set(as_base)
        with seeded_index(self.mirror, self.story, self.base) as index:
            if paths:  # first, while the index has the date of the checkout: by that git tells racy entries
                self._update(index, paths, self.folder, "--add", "--remove", "--replace")
            if gone:
                self._update(index, gone, index.parent, "--force-remove")
            return Sha(self.mirror.git.out("write-tree", index=index))

    def _update(self, index: Path, paths: Iterable[str], work_tree: Path, *how: str) -> None:
        data = b"".join(os.fsencode(path) + b"\0" for path in paths)
        self.mirror.git.run("update-index", *how, "-z", "--stdin", data=data, work_tree=work_tree, index=index)


def _readable(path: Path) -> bool:
    """Can its content be read, if need be after giving ourselves the right to? What vanished is no trouble."""
    if path.is_symlink():
        return True
    try:
        with open(path, "rb", opener=_no_waiting):
            return True
    except PermissionError:
        return _granted(path, stat.S_IRUSR) and _readable(path)
    except FileNotFoundError:
        return True
    except OSError:
        return False


def _no_waiting(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NONBLOCK)
