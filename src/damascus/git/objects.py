"""Git's objects, read and written without a process where that is simple.

A git process costs about 2 ms and a story needs dozens of objects, so commits, blobs and edited trees are written
here as loose objects (the format has not changed since 2005), and loose ones are read here. What lies in a pack is
asked of `git cat-file --batch`, one process for all of it.
"""

import hashlib
import os
import tempfile
import time
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from damascus.domain.ids import Sha
from damascus.git.commands import IDENTITY, Git

FOLDER = "40000"
SYMLINK = "120000"
GITLINK = "160000"
REGULAR = ("100644", "100755")


@dataclass(frozen=True)
class Entry:
    """One name in a tree."""

    mode: str
    sha: Sha


@dataclass(frozen=True)
class Found:
    """One object and its kind: commit, tree, blob or tag."""

    kind: str
    sha: Sha
    data: bytes


@dataclass(frozen=True)
class Commit:
    """What we need of a commit. `author` is the whole header line's value."""

    tree: Sha
    parents: tuple[Sha, ...]
    author: str
    message: str


def identity_now() -> str:
    return f"{IDENTITY['GIT_COMMITTER_NAME']} <{IDENTITY['GIT_COMMITTER_EMAIL']}> {int(time.time())} +0000"


@dataclass(frozen=True)
class Objects:
    """The object store of one repository of ours."""

    git: Git

    @property
    def folder(self) -> Path:
        return self.git.git_dir / "objects"

    # ── read ──────────────────────────────────────────────────────────────────────────────────────

    def find(self, names: Sequence[str]) -> list[Found | None]:
        """Each name (an id, or `<commit>:<path>`) with its object, None where there is none. At most one process."""
        found = [self._loose(name) for name in names]
        missing = [n for n, item in enumerate(found) if item is None]
        if missing:
            answers = self._batch([names[n] for n in missing])
            for n, answer in zip(missing, answers, strict=True):
                found[n] = answer
        return found

    def _loose(self, name: str) -> Found | None:
        if len(name) != 40 or ":" in name:
            return None
        try:
            raw = zlib.decompress((self.folder / name[:2] / name[2:]).read_bytes())
        except (OSError, zlib.error):
            return None
        head, _, data = raw.partition(b"\0")
        return Found(head.split(b" ")[0].decode(), Sha(name), data)

    def _batch(self, names: Sequence[str]) -> list[Found | None]:
        asked = b"".join(os.fsencode(name) + b"\0" for name in names)
        out = self.git.run("cat-file", "--batch", "-z", data=asked).raw
        answers: list[Found | None] = []
        at = 0
        for name in names:
            answer, at = _answer(out, at, len(os.fsencode(name)))
            answers.append(answer)
        return answers

    def commit(self, sha: Sha) -> Commit:
        found = self.find([sha])[0]
        if found is None or found.kind != "commit":
            raise KeyError(f"no commit {sha} in {self.git.git_dir}")
        head, _, message = found.data.decode("utf-8", errors="surrogateescape").partition("\n\n")
        fields = [line.partition(" ") for line in head.split("\n")]
        parents = tuple(Sha(value) for key, _, value in fields if key == "parent")
        first = {key: value for key, _, value in reversed(fields)}
        return Commit(Sha(first["tree"]), parents, first["author"], message)

    # ── write ─────────────────────────────────────────────────────────────────────────────────────

    def write(self, kind: str, data: bytes) -> Sha:
        raw = f"{kind} {len(data)}".encode() + b"\0" + data
        sha = hashlib.sha1(raw, usedforsecurity=False).hexdigest()
        target = self.folder / sha[:2] / sha[2:]
        try:
            os.utime(target)  # as git does: a fresh date keeps it from a prune that runs just now
        except FileNotFoundError:
            self._place(target, zlib.compress(raw, 1))
        return Sha(sha)

    def _place(self, target: Path, packed: bytes) -> None:
        handle, temporary = tempfile.mkstemp(prefix="tmp_obj_", dir=self.folder)  # git's own prefix: gc knows it
        with open(handle, "wb") as file:
            file.write(packed)
            os.fchmod(handle, 0o444)
        target.parent.mkdir(exist_ok=True)
        os.replace(temporary, target)

    def write_commit(self, commit: Commit) -> Sha:
        lines = [f"tree {commit.tree}", *(f"parent {parent}" for parent in commit.parents)]
        lines += [f"author {commit.author}", f"committer {identity_now()}", "", commit.message]
        return self.write("commit", "\n".join(lines).encode("utf-8", errors="surrogateescape"))

    # ── trees ─────────────────────────────────────────────────────────────────────────────────────

    def entries(self, wanted: Iterable[tuple[Sha, str]]) -> dict[tuple[Sha, str], dict[str, Entry]]:
        """What is directly in these (tree, folder); "" is the root, a folder that is not there is empty."""
        keys = sorted(set(wanted))
        found = self.find([f"{treeish}:{folder}" for treeish, folder in keys])
        trees = (item.data if item is not None and item.kind == "tree" else b"" for item in found)
        return {key: parse_tree(tree) for key, tree in zip(keys, trees, strict=True)}

    def overlay(self, base: Sha, source: Sha, paths: Sequence[str]) -> Sha:
        """The base's tree with exactly these paths as they are in `source`, gone where no file is there."""
        split = {path: path.rpartition("/") for path in paths}
        trees = self.entries(
            [*((source, folder) for folder, _, _ in split.values()), *((base, folder) for folder in _touched(paths))]
        )
        there = {path: trees[source, folder].get(name) for path, (folder, _, name) in split.items()}
        files = {path: None if entry is None or entry.mode == FOLDER else entry for path, entry in there.items()}
        return self._apply({folder: dict(trees[base, folder]) for folder in _touched(paths)}, files)

    def edit(self, base: Sha, changes: Mapping[str, Entry | None]) -> Sha:
        """The base's tree with these paths set (None: gone). A file and a folder of one name replace each other."""
        trees = self.entries((base, folder) for folder in _touched(changes))
        return self._apply({folder: entries for (_, folder), entries in trees.items()}, changes)

    def _apply(self, trees: dict[str, dict[str, Entry]], changes: Mapping[str, Entry | None]) -> Sha:
        for path in sorted(changes, key=lambda path: changes[path] is not None):  # first what goes, then what comes
            _place_entry(trees, path, changes[path])
        return self._write_folder("", trees) or self.write("tree", b"")

    def _write_folder(self, folder: str, trees: dict[str, dict[str, Entry]]) -> Sha | None:
        here = trees[folder]
        for name in list(here):
            below = f"{folder}/{name}" if folder else name
            if here[name].mode == FOLDER and below in trees:
                sha = self._write_folder(below, trees)
                here.pop(name) if sha is None else here.update({name: Entry(FOLDER, sha)})
        return self.write("tree", format_tree(here)) if here else None


def _answer(out: bytes, at: int, name_length: int) -> tuple[Found | None, int]:
    """One answer of `cat-file --batch`. A missing name comes back as it was asked, which may contain a newline."""
    if out.startswith(b" missing\n", at + name_length):
        return None, at + name_length + len(b" missing\n")
    end = out.index(b"\n", at)
    fields = out[at:end].decode("ascii", errors="replace").split(" ")
    if len(fields) != 3 or not fields[2].isdigit():
        return None, end + 1
    size = int(fields[2])
    return Found(fields[1], Sha(fields[0]), out[end + 1 : end + 1 + size]), end + 1 + size + 1


def parents(path: str) -> list[str]:
    """The folders above a path, outermost first, without the root."""
    parts = path.split("/")[:-1]
    return ["/".join(parts[: n + 1]) for n in range(len(parts))]


def _touched(paths: Iterable[str]) -> set[str]:
    """Every folder whose tree changes with these paths."""
    return {""} | {folder for path in paths for folder in parents(path)}


def parse_tree(data: bytes) -> dict[str, Entry]:
    entries: dict[str, Entry] = {}
    at = 0
    while at < len(data):
        space = data.index(b" ", at)
        end = data.index(b"\0", space)
        name = os.fsdecode(data[space + 1 : end])
        entries[name] = Entry(data[at:space].decode(), Sha(data[end + 1 : end + 21].hex()))
        at = end + 21
    return entries


def format_tree(entries: Mapping[str, Entry]) -> bytes:
    """Git sorts by bytes, a folder as if its name ended in a slash."""
    rows = [(os.fsencode(name), entry) for name, entry in entries.items()]
    rows.sort(key=lambda row: row[0] + b"/" if row[1].mode == FOLDER else row[0])
    return b"".join(b"%s %s\0%s" % (entry.mode.encode(), name, bytes.fromhex(entry.sha)) for name, entry in rows)


def _place_entry(trees: dict[str, dict[str, Entry]], path: str, entry: Entry | None) -> None:
    above = ""
    for folder in parents(path):
        name = folder.rpartition("/")[2]
        if entry is not None and (name not in trees[above] or trees[above][name].mode != FOLDER):
            trees[above][name] = Entry(FOLDER, Sha(""))
            trees[folder] = {}
        above = folder
    name = path.rpartition("/")[2]
    if entry is None:
        old = trees[above].get(name)
        if old is not None and old.mode != FOLDER:
            del trees[above][name]
    else:
        trees[above][name] = entry
