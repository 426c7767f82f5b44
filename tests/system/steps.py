"""Commands run as steps in a folder of the test's own, and who of them is left."""

import os
from pathlib import Path
from typing import Any

from damascus.system import procfs
from damascus.system.process import Finished, run, shell
from tests.waiting import eventually

OF_LIBC = 0b11 << 31  # signals 32 and 33 are the C library's own: no program can set them
SRC = Path(__file__).parents[2] / "src"
ENV = {"PATH": os.environ["PATH"]}
IGNORES_TERM = "trap '' TERM; echo ready > ready; while :; do sleep 0.05; done"


class Steps:
    """Runs commands in a folder of the test's own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.log = folder / "logs" / "step.log"

    def __call__(self, command: str | list[str], **changes: Any) -> Finished:
        argv = shell(command) if isinstance(command, str) else command
        settings: dict[str, Any] = {"cwd": self.folder, "env": ENV, "log": self.log, "timeout": 30.0}
        return run(argv, **(settings | changes))

    def wait_for(self, name: str) -> str:
        file = self.folder / name
        return eventually(lambda: file.exists() and file.read_text().strip(), what=name)

    def there(self, name: str) -> bool:
        return (self.folder / name).exists()


def gone(pid: int | str) -> bool:
    found = procfs.process(int(pid))
    return found is None or found.zombie


def alive(pid: int | str) -> bool:
    return not gone(pid)
