"""Repositories of ours as libgit2 opens them. What holds for all of them is set here, before the first is opened.

Only a path that we made is opened, never one that libgit2 would have to look for: a folder that an agent can write is
given to nobody here. The config of the user and of the system is not read, and a repository of another user is refused
(git itself is asked then). Refs are read and moved so; no object is read or written (docs/decisions/0013).
"""

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pygit2
from pygit2 import GitError as LibraryError
from pygit2.enums import ConfigLevel, RepositoryOpenFlag

__all__ = ["LibraryError", "OpenedRepository"]

NEVER_FOUND = RepositoryOpenFlag.NO_SEARCH | RepositoryOpenFlag.NO_DOTGIT | RepositoryOpenFlag.BARE

for level in (ConfigLevel.PROGRAMDATA, ConfigLevel.SYSTEM, ConfigLevel.XDG, ConfigLevel.GLOBAL):
    pygit2.settings.search_path[level] = ""
pygit2.settings.owner_validation = True


class OpenedRepository:
    """Opened when first asked for, and again when another folder is in its place: a mirror may be deleted and made
    anew under a running worker. One thread at a time."""

    def __init__(self, git_dir: Path) -> None:
        self._git_dir = git_dir
        self._lock = threading.Lock()
        self._opened: tuple[tuple[int, int] | None, pygit2.Repository] | None = None

    @contextmanager
    def use(self) -> Iterator[pygit2.Repository]:
        """LibraryError: it is not there, or not ours."""
        with self._lock:
            mark = identity(self._git_dir)
            if self._opened is None or self._opened[0] != mark:
                self._opened = None
                self._opened = mark, pygit2.Repository(os.fspath(self._git_dir), NEVER_FOUND)
            yield self._opened[1]


def identity(folder: Path | str) -> tuple[int, int] | None:
    """Which folder it is, whatever its name; None: there is none."""
    try:
        at = os.stat(folder)
    except OSError:
        return None
    return at.st_dev, at.st_ino
