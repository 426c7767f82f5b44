"""A file is replaced as a whole: whoever reads it sees what was there or what is there now, never half of either."""

import os
from contextlib import suppress
from pathlib import Path

PRIVATE = 0o600
LONGEST_NAME = 200


def replace_file(
    path: Path, content: bytes | str, *, mode: int | None = None, owner: int | None = None, sync: bool = False
) -> None:
    """Written aside in the same folder, then renamed; a link at `path` is replaced, not followed.

    `mode` holds from the first moment on (None: as the umask says), `owner` is a user and group. `sync`: it is there
    after a power cut, too.
    """
    data = content.encode() if isinstance(content, str) else content
    aside = path.with_name(f".{path.name[:LONGEST_NAME]}.{os.urandom(6).hex()}")
    handle = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666 if mode is None else PRIVATE)
    try:
        with open(handle, "wb") as file:
            file.write(data)
            if owner is not None:
                os.fchown(handle, owner, owner)
            if mode is not None:
                os.fchmod(handle, mode)
            if sync:
                file.flush()
                os.fsync(handle)
        os.replace(aside, path)
    except BaseException as err:
        with suppress(OSError):
            aside.unlink()
        if isinstance(err, OSError):
            err.filename = str(path)  # a full disk names no file
        raise
    if sync:
        _sync_folder(path.parent)


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
