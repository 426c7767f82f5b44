"""Reading a file that somebody else's program left: never through a link, never from a pipe, never without end."""

import os
import stat
from pathlib import Path


def read_plain(path: Path, limit: int) -> bytes | None:
    """Its first bytes if it is a plain file, else None. One byte more than `limit` says that there is more."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError):
        return None
    if not stat.S_ISREG(os.fstat(fd).st_mode):  # Python's open would raise at a folder
        os.close(fd)
        return None
    with open(fd, "rb") as file:
        return file.read(limit + 1)
