"""Seats: constant paths at which a confined command sees folders that lie elsewhere on the machine.

What sets a checkout up records where it lies: in an editable install, in the first line of a script, in a link. Every
checkout therefore has one and the same path for whoever runs in it, and what was recorded in one means each. Where
nothing can be mounted (Landlock, unconfined) nothing is moved: a folder is seen where it lies.
"""

import os
import re
from dataclasses import dataclass
from pathlib import Path

from damascus.domain.once import once

CHECKOUT = "/mnt/checkout"
HOME = "/mnt/home"
"""HOME of the set-up command, with the packages that it fetched."""
TEMPORARY = "/mnt/tmp"
"""TMPDIR of a judged command: a socket's path may be 107 bytes long, and a data folder's is half of that."""


@dataclass(frozen=True)
class Seat:
    folder: Path
    seen: str

    @once
    def names(self) -> tuple[str, ...]:
        """The folder as it was named and as it really is. Asked for every path that a command may see."""
        return tuple(dict.fromkeys((os.path.abspath(self.folder), os.path.realpath(self.folder))))


@dataclass(frozen=True)
class Seats:
    """What is seen elsewhere than it lies; the one place where such paths are translated."""

    each: tuple[Seat, ...] = ()

    def inside(self, path: str | Path) -> str:
        """As the command sees it."""
        for seat in self.each:
            for name in seat.names:
                if (below := _below(str(path), name)) is not None:
                    return seat.seen + below
        return str(path)

    def outside(self, path: str) -> str:
        """Where it lies. `..` is resolved by name first: it must not lead from a seat to beside the folder."""
        told = os.path.normpath(path) if os.path.isabs(path) else path
        for seat in self.each:
            if (below := _below(told, seat.seen)) is not None:
                return str(seat.folder) + below
        return path

    def retold(self, text: str) -> str:
        """A text for the command, with its own names of folders."""
        for seat in self.each:
            for name in seat.names:
                text = re.sub(rf"{re.escape(name)}(?![\w-]|\.\w)", seat.seen, text)
        return text


NOWHERE = Seats()
"""Everything is seen where it lies."""


def _below(path: str, folder: str) -> str | None:
    return path[len(folder) :] if path == folder or path.startswith(folder + "/") else None
