"""Where an agent with a model works: folders of one step, and an environment that is an allow-list.

All of it is new for each step, HOME too: what one agent leaves there can neither lead nor mislead the next.
"""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from damascus.agents.command import OURS, PASSED_ON, absolute_path
from damascus.domain.ports import Brief, Watch
from damascus.system.masking import mask_file
from damascus.system.output import make_way, stderr_log

LOOPBACK = "127.0.0.1,localhost,::1"


@dataclass(frozen=True)
class Surroundings:
    """`folder` is ours; its parts are the agent's to write."""

    folder: Path

    @classmethod
    @contextmanager
    def of(cls, homes: Path, story: str) -> Iterator["Surroundings"]:
        """For one step; what a dead worker's step of the story left is taken away."""
        steps = homes.absolute() / ".steps" / story
        shutil.rmtree(steps, ignore_errors=True)
        steps.mkdir(mode=0o700, parents=True)
        with tempfile.TemporaryDirectory(dir=steps, ignore_cleanup_errors=True) as name:
            made = cls(Path(name))
            for part in made.parts:
                part.mkdir(mode=0o700)
            yield made

    @property
    def parts(self) -> tuple[Path, ...]:
        return (self.home, self.config, self.tmp, self.report.parent)

    @property
    def home(self) -> Path:
        return self.folder / "home"

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

    def environment(self, brief: Brief, watch: Watch, start_folder: Path, dead_end: str) -> dict[str, str]:
        """`dead_end` is where its programs are told to look for the rest of the world: the bridge, which refuses it."""
        given = {name: value for name, value in watch.env.items() if name not in OURS}
        return {
            "LANG": "C.UTF-8",
            **{name: value for name, value in os.environ.items() if PASSED_ON.fullmatch(name)},
            "PATH": absolute_path(os.environ, start_folder),
            "TMPDIR": str(self.tmp),
            **given,
            "TERM": "dumb",
            "HOME": str(self.home),
            "DAMASCUS_ROLE": brief.role,
            "DAMASCUS_BRIEF": str(watch.brief_file.absolute()),
            "DAMASCUS_REPORT": str(self.report),
            **{name: dead_end for name in ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy")},
            **{name: LOOPBACK for name in ("NO_PROXY", "no_proxy")},
        }

    def keep_stderr(self, watch: Watch) -> None:
        """Beside the transcript, as every agent's; the values of the workspace's variables masked."""
        kept = stderr_log(watch.transcript)
        make_way(kept)
        if stderr_log(self.stream).is_file():
            shutil.copyfile(stderr_log(self.stream), kept)
            mask_file(kept, watch.env.values())
