"""Git's objects by their meaning: commits, trees and paths in them (git/disk.py reads and writes them)."""

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from damascus.domain.errors import TransientError
from damascus.domain.ids import Sha
from damascus.git.commands import IDENTITY, Git
from damascus.git.disk import Disk, GitObject, Recent
from damascus.git.trees import FOLDER, GITLINK, TreeEntry, format_tree, parents, parse_tree, place_entry

__all__ = ["EMPTY_TREE", "Commit", "GitObject", "Objects", "Recent", "identity_now"]

EMPTY_TREE = Sha("4b825dc642cb6eb9a060e54bf8d69288fbee4904")
SMALL = 100_000
KEPT = 512
SMALL_BLOB = 16_000
TREES_KEPT = 64


@dataclass(frozen=True)
class Commit:
    """What we need of a commit. `author` is the whole header line's value."""

    tree: Sha
    parents: tuple[Sha, ...]
    author: str
    message: str
    committer: str = ""

    @property
    def made_at(self) -> datetime:
        return datetime.fromtimestamp(int(self.committer.split()[-2]), UTC)


def identity_now(author: str = "") -> str:
    who = author or f"{IDENTITY['GIT_COMMITTER_NAME']} <{IDENTITY['GIT_COMMITTER_EMAIL']}>"
    return f"{who} {int(time.time())} +0000"


class Objects:
    """The object store of one repository of ours."""

    def __init__(self, git: Git, borrowed: Path | None = None) -> None:
        """`borrowed`: the objects of its alternate, read but never written."""
        self.git = git
        self.disk = Disk(git, borrowed)
        self._small: Recent[str, GitObject] = Recent(KEPT)
        self._blobs: Recent[str, GitObject] = Recent(KEPT)
        self._trees: Recent[str, dict[str, TreeEntry]] = Recent(TREES_KEPT)

    # ── read ──────────────────────────────────────────────────────────────────────────────────────

    def find(self, names: Sequence[str]) -> list[GitObject | None]:
        """Each name (an id, or `<commit>:<path>`) with its object, or None: no such id, no such path.

        A path is never taken for missing because its commit or folder is: that is a fetch that goes on, or was killed.
        """
        return [self._find(name) for name in names]

    def _find(self, name: str) -> GitObject | None:
        treeish, colon, path = name.partition(":")
        if not colon:
            return self._object(treeish)
        found = self._needed(treeish)
        if found.kind == "commit":
            found = self._needed(found.data[5:45].decode())
        for part in (part for part in path.split("/") if part):
            entry = self._parsed(found).get(part) if found.kind == "tree" else None
            if entry is None or entry.mode == GITLINK:
                return None
            found = self._needed(entry.sha)
        return found

    def _needed(self, sha: str) -> GitObject:
        found = self._object(sha)
        if found is None:
            raise TransientError(f"{self.git.git_dir} lacks {sha}")
        return found

    def _object(self, sha: str) -> GitObject | None:
        """Commits and trees are asked for again and again, and the files of one change by every gate that looks."""
        known = self._small.get(sha) or self._blobs.get(sha)
        if known is not None:
            return known
        found = self.disk.read(sha)
        if found is not None and found.kind == "blob" and len(found.data) < SMALL_BLOB:
            self._blobs.keep(sha, found)
        elif found is not None and found.kind != "blob" and len(found.data) < SMALL:
            self._small.keep(sha, found)
        return found

    def kind(self, sha: Sha) -> str | None:
        found = self._object(sha)
        return found.kind if found is not None else None

    def tree_of(self, treeish: Sha) -> Sha:
        found = self._object(treeish)
        if found is None:
            raise KeyError(f"no object {treeish} in {self.git.git_dir}")
        return Sha(found.data[5:45].decode()) if found.kind == "commit" else treeish

    def folder_at(self, tree: Sha) -> dict[str, TreeEntry]:
        found = self._object(tree)
        if found is None or found.kind != "tree":
            raise KeyError(f"no tree {tree} in {self.git.git_dir}")
        return self._parsed(found)

    def _parsed(self, found: GitObject) -> dict[str, TreeEntry]:
        """Many paths of one folder are asked for in a row."""
        known = self._trees.get(found.sha)
        return known if known is not None else self._trees.keep(found.sha, parse_tree(found.data))

    def commit(self, sha: Sha) -> Commit:
        found = self.find([sha])[0]
        if found is None or found.kind != "commit":
            raise KeyError(f"no commit {sha} in {self.git.git_dir}")
        head, _, message = found.data.decode("utf-8", errors="surrogateescape").partition("\n\n")
        fields = [line.partition(" ") for line in head.split("\n")]
        parents = tuple(Sha(value) for key, _, value in fields if key == "parent")
        first = {key: value for key, _, value in reversed(fields)}
        return Commit(Sha(first["tree"]), parents, first["author"], message, first["committer"])

    # ── write ─────────────────────────────────────────────────────────────────────────────────────

    def write(self, kind: str, data: bytes, *, durable: bool = False) -> Sha:
        return self.disk.write(kind, data, durable=durable)

    def write_commit(self, commit: Commit) -> Sha:
        lines = [f"tree {commit.tree}", *(f"parent {parent}" for parent in commit.parents)]
        lines += [f"author {commit.author}", f"committer {identity_now()}", "", commit.message]
        return self.write("commit", "\n".join(lines).encode("utf-8", errors="surrogateescape"))

    # ── trees ─────────────────────────────────────────────────────────────────────────────────────

    def entries(self, wanted: Iterable[tuple[Sha, str]]) -> dict[tuple[Sha, str], dict[str, TreeEntry]]:
        """What is directly in these (tree, folder), to be changed by who asks; "" is the root, a folder that is not
        there is empty."""
        keys = sorted(set(wanted))
        found = self.find([f"{treeish}:{folder}" for treeish, folder in keys])
        trees = (self._parsed(item) if item is not None and item.kind == "tree" else {} for item in found)
        return {key: dict(tree) for key, tree in zip(keys, trees, strict=True)}

    def overlay(self, base: Sha, source: Sha, paths: Sequence[str]) -> Sha:
        """The base's tree with exactly these paths as they are in `source`, gone where no file is there."""
        split = {path: path.rpartition("/") for path in paths}
        trees = self.entries(
            [*((source, folder) for folder, _, _ in split.values()), *((base, folder) for folder in _touched(paths))]
        )
        there = {path: trees[source, folder].get(name) for path, (folder, _, name) in split.items()}
        files = {path: None if entry is None or entry.mode == FOLDER else entry for path, entry in there.items()}
        return self._apply({folder: trees[base, folder] for folder in _touched(paths)}, files)

    def edit(self, base: Sha, changes: Mapping[str, TreeEntry | None]) -> Sha:
        """The base's tree with these paths set (None: gone). A file and a folder of one name replace each other."""
        trees = self.entries((base, folder) for folder in _touched(changes))
        return self._apply({folder: entries for (_, folder), entries in trees.items()}, changes)

    def _apply(self, trees: dict[str, dict[str, TreeEntry]], changes: Mapping[str, TreeEntry | None]) -> Sha:
        for path in sorted(changes, key=lambda path: changes[path] is not None):  # first what goes, then what comes
            place_entry(trees, path, changes[path])
        return self._write_folder("", trees) or self.write("tree", b"")

    def _write_folder(self, folder: str, trees: dict[str, dict[str, TreeEntry]]) -> Sha | None:
        here = trees[folder]
        for name in list(here):
            below = f"{folder}/{name}" if folder else name
            if here[name].mode == FOLDER and below in trees:
                sha = self._write_folder(below, trees)
                here.pop(name) if sha is None else here.update({name: TreeEntry(FOLDER, sha)})
        return self.write("tree", format_tree(here)) if here else None


def _touched(paths: Iterable[str]) -> set[str]:
    """Every folder whose tree changes with these paths."""
    return {""} | {folder for path in paths for folder in parents(path)}
