"""What of the machine a confined command sees, as one table: path → readable, writable or hidden.

Both ways of confining are made from it: bubblewrap mounts the table, Landlock allows it. It is a list of what is there,
never of what is not: a path that nobody named does not exist for the command.
"""

import os
from collections.abc import Iterable, Iterator, Mapping
from enum import IntEnum
from functools import cache

from damascus.domain.errors import DamascusError
from damascus.system.seats import Seats


class Show(IntEnum):
    READ = 1
    WRITE = 2
    HIDE = 3
    """Below something that is shown, and not to be."""


Table = Mapping[str, Show]

SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc", "/opt", "/nix/store", "/gnu/store")
NEVER = ("/", "/dev", "/proc", "/sys", "/tmp", "/run", "/var", "/home", "/root")
"""Too much to be shown as a whole, whoever asks."""


def within(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def too_much(path: str) -> bool:
    """A folder that nobody can mean as a whole: the root, everybody's homes, one's own home or one above it."""
    home, real = os.path.realpath(os.path.expanduser("~")), os.path.realpath(path)
    return real in NEVER or within(home, real)


def table(shown: Table, read: Iterable[str], write: Iterable[str]) -> dict[str, Show]:
    """`shown` (the system, the toolchain) with one command's own paths.

    What lies beside a writable folder is not shown either: the data folder with other stories' workspaces and our
    database may lie below a folder that is.
    """
    found = dict(shown)
    for path in (name for each in read if os.path.exists(each) for name in names(each)):
        found.setdefault(path, Show.READ)
    writable = [name for each in write for name in names(each)]
    for path in writable:
        for folder in _above(path):
            if found.get(folder) is Show.READ:
                found.setdefault(_next(folder, path), Show.HIDE)
    return found | dict.fromkeys(writable, Show.WRITE)


def seated(shown: Table, seats: Seats) -> tuple[dict[str, Show], dict[str, str]]:
    """The table with folders at their seats instead of where they lie, and where what is seen there lies.

    Nothing else may be at a seat, or it would appear in the checkout: then nothing is started.
    """
    moved, sources = dict(shown), dict[str, str]()
    for seat in seats.each:
        _refuse_others(shown, seat.seen)
        for path in [each for each in moved if any(within(each, name) for name in seat.names)]:
            inside = seats.inside(path)
            moved[inside], sources[inside] = moved.pop(path), path
        moved[seat.seen], sources[seat.seen] = _shown_as(shown, seat.names[-1]), str(seat.folder)
        moved |= dict.fromkeys(seat.names, Show.HIDE)
    return moved, sources


def _refuse_others(shown: Table, seat: str) -> None:
    for path, show in shown.items():
        if within(path, seat) or (within(seat, path) and show is not Show.HIDE):
            raise DamascusError(
                f"{path} can't be shown in the sandbox, since {seat} is the place of every checkout there. "
                "Move it elsewhere, or take it out of PATH and [agent] readable."
            )


def _shown_as(shown: Table, path: str) -> Show:
    """Of a folder that is shown, by itself or as part of another."""
    nearest = (shown[each] for each in (path, *_above(path)) if each in shown)
    return next(nearest, Show.HIDE)


def names(path: str) -> tuple[str, ...]:
    """A path as it was named and as it really is: the command may come by either way."""
    given, real = os.path.abspath(path), os.path.realpath(path)
    return (given,) if given == real else (given, real)


def _above(path: str) -> Iterator[str]:
    while (parent := os.path.dirname(path)) != path:
        yield parent
        path = parent


def _next(folder: str, path: str) -> str:
    """The entry of `folder` that leads to `path`."""
    return os.path.join(folder, path[len(folder.rstrip("/")) + 1 :].partition("/")[0])


def in_order(shown: Table) -> Iterator[tuple[str, Show]]:
    """Folders before what lies in them; what is as its folder is already is left out."""
    above: list[tuple[str, Show]] = []
    for path in sorted(shown, key=lambda each: each.split("/")):
        while above and not within(path, above[-1][0]):
            above.pop()
        here = above[-1][1] if above else Show.HIDE
        if shown[path] is not here:
            above.append((path, shown[path]))
            yield above[-1]


@cache
def system() -> dict[str, Show]:
    """The programs and settings that every user of the machine can read."""
    shown = {
        path: Show.READ for path in SYSTEM if os.path.isdir(path) and not os.path.islink(path) and os.listdir(path)
    }
    return shown | dict.fromkeys(_private_settings("/etc"), Show.HIDE)


def _private_settings(folder: str) -> Iterator[str]:
    """Password hashes, host keys, sudoers …: what we can read and not everybody can. What is empty tells nothing, and
    every path that is hidden costs each command a little."""
    try:
        entries = list(os.scandir(folder))
    except OSError:
        return
    for entry in entries:
        if entry.is_symlink():
            continue
        found, directory = entry.stat(), entry.is_dir()
        everybodys = 0o005 if directory else 0o004
        if found.st_mode & everybodys == everybodys:
            yield from _private_settings(entry.path) if directory else ()
        elif os.access(entry.path, os.R_OK) and (os.listdir(entry.path) if directory else found.st_size):
            yield entry.path
