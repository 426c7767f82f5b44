"""What a projection is made from: rows of the database, typed."""

import re
from dataclasses import dataclass, field
from datetime import datetime

from damascus.domain.ports import GateResult
from damascus.domain.verdict import TaskStatus

LAST_NUMBER = re.compile(r"(?<![0-9])0*([0-9]+)\Z")


@dataclass(frozen=True)
class TaskProof:
    """What the gates and the agent said of the commit that landed."""

    results: tuple[GateResult, ...] = ()
    patterns: tuple[str, ...] = ()
    summary: str = ""
    """The agent's words."""
    mutation: bool | None = None
    """By the receipt; None: it was not run."""
    unverified: tuple[str, ...] = ()
    """What the receipt lists."""

    def of(self, gate: str) -> GateResult | None:
        return next((result for result in reversed(self.results) if result.gate == gate), None)


@dataclass(frozen=True)
class TaskFacts:
    """One task. `reason` is why it is BLOCKED, or what made it STALE."""

    id: str
    title: str
    status: TaskStatus
    graph: str
    place: int = 0
    """In the graph."""
    commit: str = ""
    landed_at: datetime | None = None
    exempt: str = ""
    reason: str = ""
    proof: TaskProof = field(default_factory=TaskProof)

    @property
    def number(self) -> str:
        """Its own, where its id ends in one; else its place."""
        found = LAST_NUMBER.search(self.id)
        return found[1] if found else str(self.place)

    @property
    def checkpoint(self) -> str:
        """As its line in the graph says it: `<sha> <time>`."""
        if self.status is not TaskStatus.DONE or self.landed_at is None:
            return ""
        return f"{self.commit[:12]} {self.landed_at:%Y-%m-%dT%H:%M:%SZ}"


@dataclass(frozen=True)
class FullCheckpoint:
    """What was so when it was taken: it is an event, and no later look changes it. `done`: tasks that had landed."""

    number: int
    done: int
    at: datetime
    tasks: tuple[str, ...] = ()
    remaining: str = ""
    blocked: tuple[str, ...] = ()
    stale: tuple[str, ...] = ()
    patterns: tuple[str, ...] = ()
    regression: str = ""
