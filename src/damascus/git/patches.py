"""What differs between two commits, in the forms that git gives it: patches, numbers of lines, and patch ids, by which
the same change is known under another commit id."""

import os

from damascus.domain.ids import Sha
from damascus.git.commands import Git

PLAIN = ("--no-ext-diff", "--no-textconv", "--no-color")


def difference(git: Git, base: Sha, head: Sha, *form: str) -> bytes:
    """Attributes and settings change nothing."""
    return git.run("diff-tree", "-r", *PLAIN, *form, base, head).raw


def patch_ids(git: Git, *revisions: str) -> dict[str, Sha]:
    patches = git.run(
        "log", "-p", "--format=commit %H", "--no-merges", "--no-renames", "--full-index", *PLAIN, *revisions
    ).raw
    lines = git.run("patch-id", "--stable", data=patches).text.splitlines()
    return {patch: Sha(commit) for patch, commit in (line.split(" ") for line in lines)}


def counted(numstat: bytes) -> dict[str, tuple[int | None, int | None]]:
    """Lines added and removed by path, of `--numstat -z`; None where the file has no lines."""
    rows = [row.split("\t", 2) for row in os.fsdecode(numstat).split("\0") if row.count("\t") >= 2]
    return {path: (_number(added), _number(removed)) for added, removed, path in rows}


def _number(text: str) -> int | None:
    return int(text) if text.isdecimal() else None
