"""An agent's workspace is at one path for whoever works there (system/seats.py); here its names are translated.

Out: variables of its environment, words of a refusal. In: the paths of its tool calls, before anybody looks at them.
"""

from collections.abc import Mapping
from pathlib import Path

from damascus.domain.ports import Watch, WriteDecision, Writes
from damascus.system.sandbox import Level, seats_at
from damascus.system.seats import Seats
from damascus.system.toolchains import fetched

PATHS = ("file_path", "notebook_path")
"""Of a tool's input."""


def seats_of(level: Level, workspace: Path, watch: Watch) -> Seats:
    return seats_at(level, workspace, watch.setup_home)


def to_read(watch: Watch, workspace: Path) -> tuple[Path, ...]:
    """What every agent may read beside its own program."""
    return (workspace, watch.brief_file, *watch.readable, *((watch.setup_home,) if watch.setup_home else ()))


def to_write(watch: Watch, workspace: Path) -> tuple[Path, ...]:
    """Its workspace only if its role writes files."""
    return watch.writable if watch.read_only else (workspace, *watch.writable)


def fetched_by_setup(watch: Watch, seats: Seats) -> dict[str, str]:
    """Where its compilers find the packages that the project's set-up fetched."""
    found = fetched(watch.setup_home) if watch.setup_home else {}
    return {name: seats.inside(folder) for name, folder in found.items()}


class SeatedWrites:
    """ports.Writes for an agent that names files as it sees them."""

    def __init__(self, writes: Writes, seats: Seats) -> None:
        self._writes, self._seats = writes, seats

    def propose(self, tool: str, given: Mapping[str, object]) -> WriteDecision:
        decision = self._writes.propose(tool, self._outside(given))
        told = {name: given[name] for name in PATHS if name in given}
        replaced = None if decision.replaced is None else {**decision.replaced, **told}
        return decision.model_copy(update={"reason": self._seats.retold(decision.reason), "replaced": replaced})

    def applied(self, tool: str, given: Mapping[str, object]) -> str:
        return self._seats.retold(self._writes.applied(tool, self._outside(given)))

    def _outside(self, given: Mapping[str, object]) -> dict[str, object]:
        told = {name: path for name in PATHS if isinstance(path := given.get(name), str)}
        return {**given, **{name: self._seats.outside(path) for name, path in told.items()}}
