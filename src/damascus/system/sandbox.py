"""What a confined command may touch, and how that is enforced here: bubblewrap, Landlock, or plainly not at all."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path


class Level(StrEnum):
    """How a command is confined; shown in status and receipt as it is."""

    BUBBLEWRAP = "bubblewrap"
    LANDLOCK = "landlock"
    UNCONFINED = "unconfined"


@dataclass(frozen=True)
class Cage:
    """One command's bounds. The system and the toolchain are readable; everything else is named here.

    `write`: folders it may write (its workspace, its HOME, its TMPDIR). `read`: what it may read beside. `gateway`: the
    Unix socket that leads to the model gateway, its only way out; None: no network but a loopback of its own.
    `port`: where that gateway is reached on loopback from inside (bubblewrap) or outside (Landlock).
    """

    level: Level
    write: tuple[Path, ...]
    read: tuple[Path, ...] = ()
    gateway: Path | None = None
    port: int | None = None

    def enclose(self, argv: Sequence[str], cwd: Path, env: Mapping[str, str]) -> dict[str, object]:
        """The keeper's request: argv, env, and `landlock` rules where that is the level."""
        return {"argv": [*argv], "env": dict(env)}
