"""Modes of what agents and judged commands leave on disk: nothing lends rights, and nobody else passes.

In a cage the filter of system calls refuses set-id modes (syscalls.py); a command without a cage could leave such a
program, and as root any user of the machine could start it.
"""

import os
import stat
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

LENDING = stat.S_ISUID | stat.S_ISGID | stat.S_ISVTX
FOR_US = 0o700


def strip(top: Path) -> list[str]:
    """Take set-uid, set-gid and sticky bits from everything below; what had some. Whoever could put a
    link in its place has ended."""
    found, todo = [], [str(top)]
    while todo:
        with suppress(OSError), os.scandir(todo.pop()) as entries:
            for entry in entries:
                with suppress(OSError):
                    mode = entry.stat(follow_symlinks=False).st_mode
                    if stat.S_ISDIR(mode):
                        todo.append(entry.path)
                    if mode & LENDING and not stat.S_ISLNK(mode):
                        os.chmod(entry.path, stat.S_IMODE(mode) & ~LENDING)
                        found.append(entry.path)
    return found


def close(home: Path, names: Iterable[str]) -> None:
    """These folders of the data folder are for us alone. Its top stays as it is: PostgreSQL's account passes it."""
    home.mkdir(mode=FOR_US, parents=True, exist_ok=True)
    for name in names:
        folder = home / name
        with suppress(FileExistsError):
            folder.mkdir(mode=FOR_US)
        if stat.S_IMODE(folder.lstat().st_mode) != FOR_US and not folder.is_symlink():
            folder.chmod(FOR_US)
