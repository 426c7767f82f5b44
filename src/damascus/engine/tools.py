"""What the phases work with, handed over by app.py: adapters behind their ports, git, the data folder."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from damascus.domain.config import Config
from damascus.domain.ports import Agent, Forge, Gate
from damascus.git.mirror import Mirror
from damascus.git.snapshots import Snapshots
from damascus.git.workspaces import Workspaces
from damascus.scanning.scanner import Scanner
from damascus.store.db import Database
from damascus.store.projects import ProjectRow
from damascus.system.ports import PortBlocks
from damascus.system.sandbox import Level


def nothing(*_: object) -> None:
    """The default boundary: nobody looks."""


@dataclass(frozen=True)
class Tools:
    """One project's tools. `boundary(step, point)` is called at every journal boundary; tests kill there.

    `scanner` looks at whole diffs, `quick_scanner` at each write.
    """

    db: Database
    project: ProjectRow
    folder: Path
    mirror: Mirror
    workspaces: Workspaces
    snapshots: Snapshots
    forge: Forge
    agent: Agent | None
    gates_before: tuple[Gate, ...]
    gates_after: tuple[Gate, ...]
    scanner: Scanner
    quick_scanner: Scanner
    level: Level
    ports: PortBlocks
    read_config: Callable[[str], Config]
    prepare_checkout: Callable[[Path], object]
    stopping: Callable[[], bool]
    end_leftovers: Callable[[Mapping[str, object]], object] | None = None
    boundary: Callable[[str, str], None] = nothing
    refiner: bool = False

    @property
    def target(self) -> str:
        return self.project.main_branch

    def run_folder(self, story: str, run_no: int) -> Path:
        return self.folder / "runs" / story / f"run-{run_no}"
