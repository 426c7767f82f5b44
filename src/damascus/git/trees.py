"""What stands in a tree object: names, each with a mode and an id.

Taken apart and put together here and not by libgit2: its entries are made one Python object each, which takes four
times as long, and a name that is not UTF-8 is lost on reading and refused on writing (docs/decisions/0013). What is
read was compared with its id before, what is written is compared with git's own trees by tests.
"""

import os
from collections.abc import Mapping
from typing import NamedTuple

from damascus.domain.ids import Sha

FOLDER = "40000"
SYMLINK = "120000"
GITLINK = "160000"
REGULAR = ("100644", "100755")


class TreeEntry(NamedTuple):
    """One name in a tree. Made and compared by the thousand: a tuple is both in a third of a dataclass' time."""

    mode: str
    sha: Sha


def parents(path: str) -> list[str]:
    """The folders above a path, outermost first, without the root."""
    parts = path.split("/")[:-1]
    return ["/".join(parts[: n + 1]) for n in range(len(parts))]


def parse_tree(data: bytes) -> dict[str, TreeEntry]:
    entries: dict[str, TreeEntry] = {}
    at = 0
    while at < len(data):
        space = data.index(b" ", at)
        end = data.index(b"\0", space)
        name = os.fsdecode(data[space + 1 : end])
        entries[name] = TreeEntry(data[at:space].decode(), Sha(data[end + 1 : end + 21].hex()))
        at = end + 21
    return entries


def format_tree(entries: Mapping[str, TreeEntry]) -> bytes:
    """Git sorts by bytes, a folder as if its name ended in a slash."""
    rows = [(os.fsencode(name), entry) for name, entry in entries.items()]
    rows.sort(key=lambda row: row[0] + b"/" if row[1].mode == FOLDER else row[0])
    return b"".join(b"%s %s\0%s" % (entry.mode.encode(), name, bytes.fromhex(entry.sha)) for name, entry in rows)


def place_entry(trees: dict[str, dict[str, TreeEntry]], path: str, entry: TreeEntry | None) -> None:
    """Set one path in the folders that lead to it, or take it away."""
    above = ""
    for folder in parents(path):
        name = folder.rpartition("/")[2]
        if entry is not None and (name not in trees[above] or trees[above][name].mode != FOLDER):
            trees[above][name] = TreeEntry(FOLDER, Sha(""))
            trees[folder] = {}
        above = folder
    name = path.rpartition("/")[2]
    if entry is None:
        old = trees[above].get(name)
        if old is not None and old.mode != FOLDER:
            del trees[above][name]
    else:
        trees[above][name] = entry
