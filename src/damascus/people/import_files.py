"""The spec files of an import: written beside the code, taken back if the queue refuses, and never over a person's."""

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from damascus.domain.errors import UsageError
from damascus.domain.spec import digest
from damascus.system.replacing import replace_file
from damascus.tasks.importers.planning import Decided


class WrittenSpec(Protocol):
    """What is written where, and which story it belongs to."""

    @property
    def raw(self) -> bytes: ...
    @property
    def path(self) -> str: ...
    @property
    def decided(self) -> Decided: ...


class SpecFiles:
    """Of one import. `undo` leaves the folder as it was."""

    def __init__(self, top: Path) -> None:
        self.top = top
        self._were: dict[Path, bytes | None] = {}
        self._made: list[Path] = []

    def refuse(self, specs: Sequence[WrittenSpec]) -> None:
        """A file that is there is ours only as it was queued."""
        for one in specs:
            there, known = _bytes(self.top / one.path), one.decided.known
            if there is not None and there != one.raw and not (known and digest(there) == known.added):
                raise UsageError(
                    f"{one.path} is there and is not what an import wrote, so it is yours. Move it away, or name "
                    "another folder with --into. Nothing was imported."
                )

    def write(self, specs: Sequence[WrittenSpec]) -> list[str]:
        for one in specs:
            path = self.top / one.path
            self._were[path] = _bytes(path)
            try:
                self._folder(path.parent)
                replace_file(path, one.raw)
            except OSError as err:
                raise UsageError(
                    f"{one.path} can't be written: {err.strerror or err}. Name another folder with --into. "
                    "Nothing was imported."
                ) from None
        return [one.path for one in specs]

    def undo(self) -> None:
        for path, was in self._were.items():
            if was is not None:
                replace_file(path, was)
            elif path.is_file():
                path.unlink()
        for folder in reversed(self._made):
            if folder.is_dir() and not any(folder.iterdir()):
                folder.rmdir()

    def _folder(self, folder: Path) -> None:
        absent = [each for each in (folder, *folder.parents) if not each.exists()]
        self._made += [each for each in reversed(absent) if each not in self._made]
        folder.mkdir(parents=True, exist_ok=True)


def _bytes(path: Path) -> bytes | None:
    """A link, a folder or a pipe is somebody's, whatever is in it."""
    if path.is_symlink() or (path.exists() and not path.is_file()):
        return b"\0"
    return path.read_bytes() if path.is_file() else None
