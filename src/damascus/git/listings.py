"""Which files a tree has, and which of them changed between two."""

import os
from collections.abc import Iterable
from dataclasses import dataclass

from damascus.domain.ids import Sha
from damascus.domain.ports import ChangedFile
from damascus.git.objects import Objects, Recent
from damascus.git.tree_diff import changed_files
from damascus.git.trees import GITLINK, TreeEntry, parents

LISTINGS_KEPT = 16
CHANGES_KEPT = 256
FEW_CHANGES = 200


@dataclass(frozen=True)
class TreeListing:
    """Every file of a tree, and every folder that holds one."""

    files: dict[str, TreeEntry]
    folders: frozenset[str]
    gitlinks: frozenset[str]


class Listings:
    """The last few answers are kept: ids never change their meaning."""

    def __init__(self, objects: Objects) -> None:
        self._objects = objects
        self._listings: Recent[Sha, TreeListing] = Recent(LISTINGS_KEPT)
        self._last_listed: tuple[Sha, TreeListing] | None = None
        self._changes: Recent[tuple[Sha, Sha], tuple[ChangedFile, ...]] = Recent(CHANGES_KEPT)

    def changed(self, base: Sha, head: Sha) -> tuple[ChangedFile, ...]:
        trees = self._objects.tree_of(base), self._objects.tree_of(head)
        known = self._changes.get(trees)
        if known is None:
            known = changed_files(self._objects.folder_at, *trees)
            if len(known) <= FEW_CHANGES:
                self._changes.keep(trees, known)
        return known

    def of(self, treeish: Sha) -> TreeListing:
        """Made from the last one if that can be."""
        known = self._listings.get(treeish) or self._next(treeish) or self._read(treeish)
        self._last_listed = treeish, known
        return self._listings.keep(treeish, known)

    def _next(self, treeish: Sha) -> TreeListing | None:
        """As the last one, but for a few files: what a story changes, or one tree has beside another."""
        if self._last_listed is None:
            return None
        last, old = self._last_listed
        changes = self.changed(last, treeish)
        gone = {change.path for change in changes if change.status == "D"}
        plain = all(change.status in "AMD" and change.mode != GITLINK for change in changes)
        if len(changes) > FEW_CHANGES or not plain or gone & old.gitlinks:
            return None
        paths = [change.path for change in changes if change.path not in gone]
        folders = self._objects.entries((treeish, path.rpartition("/")[0]) for path in paths)
        new = {path: folders[treeish, path.rpartition("/")[0]][path.rpartition("/")[2]] for path in paths}
        files = {path: entry for path, entry in old.files.items() if path not in gone} | new
        left = {folder for folder in _above(gone) if not _hold(folder, files, old.gitlinks)}
        return TreeListing(files, (old.folders | _above(paths)) - left, old.gitlinks)

    def _read(self, treeish: Sha) -> TreeListing:
        """By git: one process is faster than a question for every folder."""
        raw = self._objects.git.run("ls-tree", "-r", "-z", "--full-tree", treeish).raw
        rows = (row.partition(b"\t") for row in raw.split(b"\0") if row)
        heads = ((os.fsdecode(path), head.decode().split(" ")) for head, _, path in rows)
        entries = {path: TreeEntry(mode, Sha(sha)) for path, (mode, _, sha) in heads}
        links = frozenset(path for path, entry in entries.items() if entry.mode == GITLINK)
        files = {path: entry for path, entry in entries.items() if path not in links}
        return TreeListing(files, _above(entries), links)


def _above(paths: Iterable[str]) -> frozenset[str]:
    """The folders that hold these paths."""
    return frozenset(folder for path in paths for folder in parents(path))


def _hold(folder: str, *paths: Iterable[str]) -> bool:
    """Does one of these lie in the folder?"""
    return any(path.startswith(f"{folder}/") for each in paths for path in each)
