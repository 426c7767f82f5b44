"""File names that are special somewhere: git's own in every disguise, and what a file system takes for another.

`git fsck` knows `.git` also as HFS+ (which ignores some characters) and NTFS (short names, streams, trailing dots and
spaces) would take it; the same disguises hide `.gitmodules` and `.gitattributes`. A test compares the two.
"""

import re
import unicodedata
from collections.abc import Iterable

HFS_IGNORED = re.compile("[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff]")
CONTROL = re.compile(r"[\x00-\x1f\x7f]")
GITS_FILES = (".gitmodules", ".gitattributes", ".gitignore", ".mailmap")
SHORT = {"gi7eba": ".gitmodules", "gi7d29": ".gitattributes", "gi250a": ".gitignore", "maba30": ".mailmap"}
"""What NTFS falls back to when the first four short names of a prefix are taken: the first two letters and a hash."""


def special(path: str) -> str:
    """Why no story may add a file of this name; "" if it may."""
    for part in path.split("/"):
        if why := _special_part(part):
            return why
    return ""


def _special_part(part: str) -> str:
    if is_git(part):
        return "git's own, in disguise"
    if (file := gits_file(part)) and part != file:
        return f"{file} in disguise"
    if "\\" in part:
        return "a backslash, which other systems take for a folder"
    if CONTROL.search(part):
        return "a control character in the name"
    if part.endswith((".", " ")) and part not in (".", ".."):
        return "a name that ends in a dot or a space, which other systems drop"
    return ""


def is_git(part: str) -> bool:
    """`.git` as any file system that git knows would take it."""
    if HFS_IGNORED.sub("", part).lower() == ".git":
        return True
    return any(_ntfs(piece) in (".git", "git~1") for piece in part.split("\\"))


def gits_file(part: str) -> str:
    """Which of git's own files this name is, plain or in disguise; "" if none."""
    for name in dict.fromkeys((HFS_IGNORED.sub("", part).lower(), _ntfs(part))):
        if name in GITS_FILES:
            return name
        stem, tilde, number = name.partition("~")
        if tilde and number.isdigit() and number.isascii():
            whole = next((file for file in GITS_FILES if stem == file[1:7] and len(number) == 1), SHORT.get(stem, ""))
            if whole:
                return whole
    return ""


def _ntfs(part: str) -> str:
    return part.partition(":")[0].rstrip(" .").lower()


def fold(path: str) -> str:
    """What a file system without case, and with one form of each letter, makes of a name."""
    if path.isascii():
        return path.lower()
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", path).casefold())


def with_folders(paths: Iterable[str]) -> set[str]:
    """The paths and every folder above one."""
    found: set[str] = set()
    for path in paths:
        here = path
        while here and here not in found:
            found.add(here)
            here = here.rpartition("/")[0]
    return found


def folding_together(added: Iterable[str], others: Iterable[str]) -> dict[str, str]:
    """Added paths (or folders of theirs) that become one with another name, and that name."""
    there = with_folders(others)
    names: dict[str, list[str]] = {}
    for name in there:
        names.setdefault(fold(name), []).append(name)
    twins = {}
    for path in sorted(with_folders(added)):
        other = next((name for name in sorted(names.get(fold(path), ())) if name != path), None)
        if other is not None:
            twins[path] = other
    return twins
