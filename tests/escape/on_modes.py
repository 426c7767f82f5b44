"""Attempts by what is no content: a file's mode, attributes, name. Files that lend their owner's rights to others."""

import errno
import os
import stat
from pathlib import Path

from tests.escape.arena import Arena
from tests.escape.attempt import NEVER, Attempt

BY_CALLS = """
import ctypes, os, stat, struct
libc = ctypes.CDLL(None)
generic = os.uname().machine != "x86_64"
def call(number, *arguments):
    libc.syscall(number, *(ctypes.c_long(each) if isinstance(each, int) else each for each in arguments))
def tried(work):
    try:
        work()
    except OSError:
        pass
tried(lambda: os.close(os.open("opened", os.O_CREAT | os.O_WRONLY, 0o6755)))
tried(lambda: os.mknod("node", stat.S_IFREG | 0o6755))
tried(lambda: os.mkdir("folder", 0o6755))
open("plain", "w").close()
tried(lambda: os.chmod("plain", 0o4755))
tried(lambda: os.chmod("plain", 0o2755, dir_fd=os.open(".", os.O_RDONLY)))
tried(lambda: os.fchmod(os.open("plain", os.O_RDWR), 0o6755))
call(452, -100, b"plain", 0o4755, 0)
call(437, -100, b"by-openat2", struct.pack("=QQQ", os.O_CREAT | os.O_WRONLY, 0o4755, 0), 24)
call(56 if generic else 257, -100, b"by-openat", (0xDEAD << 32) | os.O_CREAT | os.O_WRONLY, (0xBEEF << 32) | 0o4755)
def unnamed():
    made = os.open(".", os.O_TMPFILE | os.O_WRONLY, 0o4755)
    os.link(f"/proc/self/fd/{made}", "by-link")
tried(unnamed)
"""


def lends_rights(arena: Arena) -> bool:
    """Is there anything in the workspace that runs as its owner or group, whoever starts it?"""
    below = [Path(folder, name) for folder, folders, files in os.walk(arena.workspace) for name in folders + files]
    return any(path.lstat().st_mode & (stat.S_ISUID | stat.S_ISGID) for path in below if not path.is_symlink())


def has_attribute(arena: Arena) -> bool:
    try:
        return os.getxattr(arena.user / ".bashrc", "user.escape") == b"x"
    except OSError as err:
        assert err.errno in (errno.ENODATA, errno.EOPNOTSUPP)
        return False


ATTEMPTS = (
    Attempt(
        "leaves a program that runs as its owner",
        "cp /bin/sh shell; chmod u+s shell; chmod 6755 shell; install -m 4755 /bin/sh another",
        lends_rights,
    ),
    Attempt("leaves one by another call of the kernel's", BY_CALLS, lends_rights, language="python"),
    Attempt("leaves a folder that lends its group", "mkdir shared; chmod g+s shared; mkdir -m 2777 more", lends_rights),
    Attempt(
        "makes a file of the user's run as its owner",
        'chmod u+s "$USER_HOME/.bashrc"',
        lambda a: bool((a.user / ".bashrc").stat().st_mode & stat.S_ISUID),
    ),
    Attempt(
        "sets an attribute of a file of the user's",
        'import os; os.setxattr(os.environ["USER_HOME"] + "/.bashrc", "user.escape", b"x")',
        has_attribute,
        language="python",
        control="attributes",
    ),
    Attempt(
        "learns whether a file of the user's is there",
        'test -e "$USER_HOME/.ssh/id_ed25519" && echo yes > loot',
        Arena.looted,
        landlock=NEVER,
    ),
    Attempt(
        "watches what happens in a folder of the user's",
        """
import ctypes, os
libc = ctypes.CDLL(None)
if libc.inotify_add_watch(libc.inotify_init1(0), (os.environ["USER_HOME"] + "/.ssh").encode(), 0xFFF) >= 0:
    open("loot", "w").write("watched")
""",
        Arena.looted,
        language="python",
        landlock=NEVER,
    ),
    Attempt("reads the database's password", 'cat "$PASSWORD" > loot', Arena.stole),
)
