"""Files in a person's own folder: read as plain files only, replaced as a whole, never through a link, never outside.

Whatever is there instead of a plain file is left alone and told in one sentence.
"""

import os
import stat
from dataclasses import dataclass
from pathlib import Path

from damascus.domain.errors import DamascusError
from damascus.system.replacing import replace_file

LARGEST = 10_000_000
MOST_ASIDE = 100


@dataclass(frozen=True)
class PlainFile:
    """What was read, and by what it is known that nobody has written it since."""

    content: bytes
    mode: int
    mark: tuple[int, int, int]


def read_plain(top: Path, path: str) -> PlainFile | None:
    """None: nothing is there. Raises DamascusError for whatever is no plain file."""
    place = _inside(top, path)
    try:
        handle = os.open(place, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    except OSError as err:
        raise _refused(place, "a link" if place.is_symlink() else f"not readable: {err.strerror}") from None
    try:
        found = os.fstat(handle)
        if not stat.S_ISREG(found.st_mode):
            raise _refused(place, "no plain file")
        if found.st_size > LARGEST:
            raise _refused(place, f"larger than {LARGEST:,} bytes")
        with open(handle, "rb", closefd=False) as file:
            return PlainFile(file.read(LARGEST + 1), stat.S_IMODE(found.st_mode), _mark(found))
    finally:
        os.close(handle)


def mark_of(top: Path, path: str) -> tuple[int, int, int] | None:
    """Differs whenever somebody wrote the file."""
    try:
        return _mark((top / path).lstat())
    except OSError:
        return None


def write_plain(top: Path, path: str, content: bytes, known: PlainFile | None) -> bool:
    """In place of exactly what was read; False: somebody wrote it meanwhile, and nothing was done."""
    place = _inside(top, path)
    if known is not None and not known.mode & stat.S_IWUSR:
        raise _refused(place, "read-only", f"allow it: chmod u+w {place}")
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        if mark_of(top, path) != (known.mark if known else None):
            return False
        replace_file(place, content, mode=known.mode if known else None)
    except OSError as err:
        raise _refused(place, f"not writable: {err.strerror}") from None
    return True


def keep_aside(top: Path, path: str, content: bytes) -> str:
    """A copy beside it, under the first name that is free."""
    for number in range(1, MOST_ASIDE):
        name = f"{path}.orig" if number == 1 else f"{path}.orig-{number}"
        try:
            handle = os.open(_inside(top, name), os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
        except FileExistsError:
            continue
        except OSError as err:
            raise _refused(top / name, f"not writable: {err.strerror}") from None
        with open(handle, "wb") as file:
            file.write(content)
        return name
    raise _refused(top / path, "edited, and there are too many copies beside it", "remove some of them")


def _inside(top: Path, path: str) -> Path:
    """Its folders are real ones, below the top."""
    parts = path.split("/")
    if path.startswith("/") or not all(parts) or {".", "..", ".git"} & set(parts):
        raise DamascusError(f"{path} is no path inside {top}. Nothing is written there.")
    for count in range(1, len(parts)):
        folder = top.joinpath(*parts[:count])
        if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
            raise _refused(folder, "no real folder")
    return top.joinpath(*parts)


def _mark(found: os.stat_result) -> tuple[int, int, int]:
    return found.st_ino, found.st_size, found.st_mtime_ns


def _refused(place: Path, why: str, cure: str = "put a plain file there, or nothing") -> DamascusError:
    return DamascusError(
        f"{place} is {why}, so the builder's words are not written there; {cure}. Nothing else is held up: "
        "damascus status says how the tasks stand."
    )
