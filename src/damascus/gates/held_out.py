"""A folder of held-out tests, as a tar in memory: laid over a checkout, read for what its tests name."""

import io
import shutil
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from damascus.domain.scope import HELD_OUT


@dataclass(frozen=True)
class HeldOutFile:
    path: str
    content: bytes
    executable: bool


def held_out_files(archive: bytes) -> Iterator[HeldOutFile]:
    """Its regular files. Links, devices and paths that leave the folder are not laid over anything."""
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        for member in tar:
            path = PurePosixPath(member.name)
            stream = tar.extractfile(member) if member.isreg() else None
            if stream is None or path.is_absolute() or ".." in path.parts:
                continue
            yield HeldOutFile(str(path), stream.read(), bool(member.mode & 0o100))


def lay_over(archive: bytes, checkout: Path) -> None:
    """Into its own folder; what the candidate may have put at that name goes first, be it a link."""
    target = checkout / HELD_OUT
    if target.is_dir() and not target.is_symlink():
        shutil.rmtree(target)
    else:
        target.unlink(missing_ok=True)
    target.mkdir()
    for file in held_out_files(archive):
        place = target / file.path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(file.content)
        place.chmod(0o755 if file.executable else 0o644)
