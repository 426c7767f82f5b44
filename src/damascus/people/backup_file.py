"""A back-up's file: a compressed tar that says first what it is, and last the hash of everything in it.

Whoever reads one believes nothing before the list at its end was found and fits: a file that was cut has none, and in
one that was altered the part that differs is named.
"""

import hashlib
import io
import json
import os
import stat
import tarfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path, PurePosixPath
from typing import IO

from damascus.domain.errors import DamascusError

HEADER, MANIFEST, DATABASE, FILES = "header.json", "manifest.json", "database.dump", "files"
FORMAT = 1
WHOLE = 64_000_000
"""Files up to here are read at once: a log may grow meanwhile."""
CHUNK = 1 << 20
BROKEN = (tarfile.TarError, EOFError, zlib.error, OSError, ValueError, KeyError)


@dataclass(frozen=True)
class Header:
    """What a back-up is of. `queue` is the database's own name, `repositories` are their folders."""

    damascus: str
    schema: int
    made_at: str
    home: str
    queue: str
    repositories: list[str]
    format: int = FORMAT


@dataclass
class Writer:
    """Adds files to a back-up and remembers their hashes."""

    tar: tarfile.TarFile
    hashes: dict[str, str] = field(default_factory=dict)
    written: int = 0

    def text(self, name: str, content: str) -> None:
        self._add(tarfile.TarInfo(name), content.encode())

    def file(self, name: str, path: Path) -> None:
        """A file that is gone meanwhile is left out; what is no file, folder or link has no place in a back-up."""
        try:
            info = self.tar.gettarinfo(str(path), name)
            if info is None or not (info.isreg() or info.isdir() or info.issym()):
                return
            if info.issym() or info.isdir():
                self.tar.addfile(info)
                self.hashes[name] = f"-> {info.linkname}" if info.issym() else "/"
                return
            with path.open("rb") as file:
                self._add_open(info, file)
        except FileNotFoundError:
            return

    def _add_open(self, info: tarfile.TarInfo, file: IO[bytes]) -> None:
        info.type = tarfile.REGTYPE  # a second name of one file is a file of its own
        size = os.fstat(file.fileno()).st_size
        if size <= WHOLE:
            self._add(info, file.read())
            return
        info.size, hashed = size, _Hashed(file)
        self.tar.addfile(info, hashed)
        self.hashes[info.name] = hashed.state.hexdigest()
        self.written += size

    def _add(self, info: tarfile.TarInfo, content: bytes) -> None:
        info.size = len(content)
        self.tar.addfile(info, io.BytesIO(content))
        self.hashes[info.name] = hashlib.sha256(content).hexdigest()
        self.written += len(content)


class _Hashed:
    def __init__(self, file: IO[bytes]) -> None:
        self.file, self.state = file, hashlib.sha256()

    def read(self, size: int = -1) -> bytes:
        data = self.file.read(size)
        self.state.update(data)
        return data


@contextmanager
def written(path: Path, header: Header) -> Iterator[Writer]:
    """Made aside, private, on disk, then renamed: there is a whole back-up or none."""
    aside = path.with_name(f".{path.name[:200]}.{os.urandom(6).hex()}")
    handle = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        with open(handle, "wb") as file:
            with tarfile.open(fileobj=file, mode="w:gz", compresslevel=1, format=tarfile.PAX_FORMAT) as tar:
                writer = Writer(tar)
                writer.text(HEADER, json.dumps(asdict(header)))
                yield writer
                writer.text(MANIFEST, json.dumps(writer.hashes, sort_keys=True))
            file.flush()
            os.fsync(handle)
        os.rename(aside, path)
    except BaseException:
        aside.unlink(missing_ok=True)
        raise


# ── reading ───────────────────────────────────────────────────────────────────────────────────────────


def header_of(path: Path) -> Header:
    with _refusing(path):
        for info, content in _members(path):
            told = json.loads(content.read()) if info.name == HEADER and content else None
            if not isinstance(told, dict) or told.get("format") != FORMAT:
                raise DamascusError(f"{path} is no back-up of Damascus, or one of another kind of release.")
            return Header(**told)
        raise DamascusError(f"{path} is empty, and no back-up of Damascus.")


def check(path: Path) -> None:
    """Reads all of it, and raises by name what is missing or differs."""
    found: dict[str, str] = {}
    listed: dict[str, str] | None = None
    with _refusing(path):
        for info, content in _members(path):
            if info.name == MANIFEST and content:
                listed = json.loads(content.read())
            else:
                found[info.name] = _hash(info, content)
    if listed is None:
        raise DamascusError(
            f"{path} is cut: the list at its end is missing. Take another back-up; nothing was changed."
        )
    differing = sorted(name for name in found.keys() | listed.keys() if found.get(name) != listed.get(name))
    if differing:
        raise DamascusError(
            f"{path} was altered: {differing[0]} is not what was backed up"
            f"{f', nor are {len(differing) - 1} others' if differing[1:] else ''}. Take another back-up; nothing was "
            "changed."
        )


def unpack(path: Path, home: Path, database: Path) -> int:
    """All files below `home`, the dump to `database`; how many files. Links come last: nothing is written through."""
    links: list[tuple[Path, str]] = []
    count = 0
    for info, content in _members(path):
        target = database if info.name == DATABASE else _inside(home, info.name)
        if target is None:
            continue
        if info.issym():
            links.append((target, info.linkname))
        elif info.isdir():
            target.mkdir(parents=True, exist_ok=True)
            target.chmod(stat.S_IMODE(info.mode) | stat.S_IRWXU)
        elif content is not None:
            _write(target, content, info)
            count += 1
    for link, to in links:
        link.symlink_to(to)
    return count


def _inside(home: Path, name: str) -> Path | None:
    top, _, rest = name.partition("/")
    if top != FILES:
        return None
    inner = PurePosixPath(rest)
    if inner.is_absolute() or ".." in inner.parts or not inner.parts:
        raise DamascusError(f"{name} of the back-up would lie outside of the data folder. It was not made by Damascus.")
    return home / inner


def _write(target: Path, content: IO[bytes], info: tarfile.TarInfo) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    handle = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with open(handle, "wb") as file:
        while data := content.read(CHUNK):
            file.write(data)
        os.fchmod(handle, stat.S_IMODE(info.mode))
    os.utime(target, (info.mtime, info.mtime))


def _members(path: Path) -> Iterator[tuple[tarfile.TarInfo, IO[bytes] | None]]:
    with tarfile.open(path, mode="r|gz") as tar:
        for info in tar:
            yield info, tar.extractfile(info) if info.isreg() else None


def _hash(info: tarfile.TarInfo, content: IO[bytes] | None) -> str:
    if content is None:
        return f"-> {info.linkname}" if info.issym() else "/"
    state = hashlib.sha256()
    while data := content.read(CHUNK):
        state.update(data)
    return state.hexdigest()


@contextmanager
def _refusing(path: Path) -> Iterator[None]:
    try:
        yield
    except FileNotFoundError as err:
        raise DamascusError(
            f"{err.filename or path} is not there. Name the file that `damascus db backup` made."
        ) from None
    except BROKEN as err:
        raise DamascusError(
            f"{path} is cut or altered, and can't be read as a back-up ({err}). Take another back-up; nothing was "
            "changed."
        ) from None
