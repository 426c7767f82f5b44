"""What surrounds an agent with a model in one step: folders, an environment that is an allow-list, a cage.

The folders are new for each step, so that what one agent leaves there can neither lead nor mislead the next; HOME, too,
unless the program keeps things there that a story needs again.
"""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from damascus.agents.command import OURS, PASSED_ON, absolute_path, readable
from damascus.agents.seating import fetched_by_setup, seats_of, to_read, to_write
from damascus.domain.ports import Brief, Watch
from damascus.gateway.bridge import WayOut
from damascus.system.masking import mask_file
from damascus.system.output import make_way, stderr_log
from damascus.system.sandbox import Cage, Level
from damascus.system.seats import Seats


@dataclass(frozen=True)
class Surroundings:
    """`folder` is ours; its parts and `home` are the agent's to write."""

    folder: Path
    home: Path
    brief: Brief
    workspace: Path
    watch: Watch
    level: Level

    @classmethod
    @contextmanager
    def of(
        cls, homes: Path, brief: Brief, workspace: Path, watch: Watch, level: Level, *, keeps_home: bool
    ) -> Iterator["Surroundings"]:
        """For one step; what a dead worker's step of the story left is taken away."""
        homes = homes.absolute()
        steps = homes / ".steps" / brief.story_id
        shutil.rmtree(steps, ignore_errors=True)
        steps.mkdir(mode=0o700, parents=True)
        with tempfile.TemporaryDirectory(dir=steps, ignore_cleanup_errors=True) as name:
            home = homes / brief.story_id if keeps_home else Path(name) / "home"
            made = cls(Path(name), home, brief, workspace, watch, level)
            for part in made.writable:
                part.mkdir(mode=0o700, parents=True, exist_ok=True)
            yield made

    @property
    def writable(self) -> tuple[Path, ...]:
        return (self.home, self.config, self.tmp, self.report.parent)

    @property
    def config(self) -> Path:
        return self.folder / "config"

    @property
    def tmp(self) -> Path:
        return self.folder / "tmp"

    @property
    def report(self) -> Path:
        return self.folder / "out/report.json"

    @property
    def stream(self) -> Path:
        """What it printed, as it was: nobody's to read but ours, since nothing in it is masked."""
        return self.folder / "stream"

    @property
    def seats(self) -> Seats:
        return seats_of(self.level, self.workspace, self.watch)

    def environment(self, start_folder: Path) -> dict[str, str]:
        """An allow-list, as for the command agent; what the program itself needs is put on top."""
        watch = self.watch
        return {
            **fetched_by_setup(watch, self.seats),
            "LANG": "C.UTF-8",
            **{name: value for name, value in os.environ.items() if PASSED_ON.fullmatch(name)},
            "PATH": absolute_path(os.environ, start_folder),
            "TMPDIR": str(self.tmp),
            **{name: value for name, value in watch.env.items() if name not in OURS},
            **watch.checkout,
            "TERM": "dumb",
            "HOME": str(self.home),
            "DAMASCUS_ROLE": self.brief.role,
            "DAMASCUS_BRIEF": str(watch.brief_file.absolute()),
            "DAMASCUS_REPORT": str(self.report),
        }

    def cage(self, program: Path, path: str, way: WayOut) -> Cage:
        """`path` is the PATH by which the program is found."""
        return Cage(
            level=self.level,
            write=(*to_write(self.watch, self.workspace), *self.writable),
            read=(*readable([str(program)], path), *way.reads, *to_read(self.watch, self.workspace)),
            gateway=way.socket,
            port=way.port_at(self.level),
            seats=self.seats,
        )

    def keep_stderr(self) -> None:
        """Beside the transcript, as every agent's; the values of the workspace's variables masked."""
        kept = stderr_log(self.watch.transcript)
        make_way(kept)
        if stderr_log(self.stream).is_file():
            shutil.copyfile(stderr_log(self.stream), kept)
            mask_file(kept, self.watch.env.values())
