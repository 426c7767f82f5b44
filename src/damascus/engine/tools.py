"""What the phases work with, handed over by assembly.py: adapters behind their ports, git, the data folder."""

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from damascus.domain.config import Config
from damascus.domain.ids import Sha
from damascus.domain.ports import Agent, EvidenceRunner, Forge, Gate, Log, NoLog
from damascus.git.mirror import Mirror
from damascus.git.repository import Repository
from damascus.git.snapshots import Snapshots
from damascus.git.workspaces import Workspaces
from damascus.scanning.scanner import Scanner
from damascus.store.db import Database
from damascus.store.projects import ProjectRow
from damascus.system.ports import PortBlocks
from damascus.system.sandbox import Level

MANY = 200
"""So many files that they are looked up in one listing."""


class Bell:
    """Rung when something of this process changed the queue: who waits for its turn need not wait for a clock."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._rings = 0

    def rings(self) -> int:
        return self._rings

    def ring(self) -> None:
        with self._changed:
            self._rings += 1
            self._changed.notify_all()

    def wait(self, heard: int, seconds: float) -> None:
        """Until it rings after `heard`, or for a while."""
        with self._changed:
            self._changed.wait_for(lambda: self._rings != heard, seconds)


class ModelsThatWork:
    """The agents and models that were found able to work, asked once per worker (agent_step/agent_fault.py)."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.models: set[tuple[str, str]] = set()

    def forget(self) -> None:
        with self.lock:
            self.models.clear()


def nothing(*_: object) -> None:
    """The default boundary: nobody looks."""


class Needs(Protocol):
    """The repositories that another one needs (engine/upstreams.py, docs/graph.md)."""

    def __call__(self) -> Mapping[str, Path]:
        """Checkouts of their mains, by the variable that names each."""
        ...

    def not_green(self) -> int | None:
        """One whose main is not known to be green: until then nothing that depends on it is pushed or landed (W13)."""
        ...


class NeedsNoOther:
    def __call__(self) -> Mapping[str, Path]:
        return {}

    def not_green(self) -> int | None:
        return None


@dataclass(frozen=True)
class Tools:
    """One repository's tools. `boundary(step, point)` is called at every journal boundary; tests kill there.

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
    gates_beside: tuple[Gate, ...]
    scanner: Scanner
    quick_scanner: Scanner
    level: Level
    ports: PortBlocks
    read_config: Callable[[str], Config]
    prepare_checkout: Callable[[Path], object]
    home_of: Callable[[Path], Path | None]
    """HOME of the command that set a checkout up."""
    as_laid: Callable[[Path, Sha, Config], Callable[[str], bool]]
    """Which paths of a checkout are as the set-up made them."""
    stopping: Callable[[], bool]
    agents: Mapping[str, Agent] = field(default_factory=dict)
    """Of roles that another agent plays ([agent.roles])."""
    end_leftovers: Callable[[Mapping[str, object]], object] | None = None
    boundary: Callable[[str, str], None] = nothing
    refiner: bool = False
    window: int = 1
    """Stories tested on top of each other at once, at most."""
    bell: Bell = field(default_factory=Bell)
    proved: ModelsThatWork = field(default_factory=ModelsThatWork)
    runner: EvidenceRunner | None = None
    here: Repository | None = None
    """The person's own repository; None on a host that has no folder of it."""
    upstreams: Needs = field(default_factory=NeedsNoOther)
    home: Path = Path()
    """The data folder."""
    log: Log = field(default_factory=NoLog)
    config: Config = field(default_factory=Config)
    """Main's damascus.toml when the worker began: for what is no story's. A story is judged by `read_config`."""
    top: Path | None = None
    """The person's own folder of the repository; None on a host that has none."""

    @property
    def target(self) -> str:
        return self.project.main_branch

    def agent_for(self, role: str) -> Agent | None:
        return self.agents.get(role, self.agent)

    def reader(self, files: int) -> Callable[[Sha, str], bytes | None]:
        """How so many files of a commit are read, one by one. Looking through a folder anew for each of the 20,000
        files that an agent wrote into it takes time by the square of their number; a listing is made once."""
        return self.mirror.read if files < MANY else self._read_listed

    def _read_listed(self, commit: Sha, path: str) -> bytes | None:
        entry = self.mirror.listing(commit).files.get(path)
        found = self.mirror.objects.find([entry.sha])[0] if entry is not None else None
        return found.data if found is not None and found.kind == "blob" else None

    def story_folder(self, story: str) -> Path:
        return self.folder / "runs" / story

    def run_folder(self, story: str, run_no: int) -> Path:
        return self.story_folder(story) / f"run-{run_no}"
