"""What an attempt tells the next one: one schema for database, API and agents (T6)."""

from pydantic import BaseModel, ConfigDict, Field

from damascus.domain.halt import HaltReason
from damascus.domain.survivors import Survivor


class Conflict(BaseModel):
    """A rebase that needs a decision (D8)."""

    model_config = ConfigDict(extra="forbid")

    conflicting_files: list[str]
    their_sha: str
    details: str = ""


class VerdictFeedback(BaseModel):
    """Typed feedback of an attempt. `transient` is set only for trouble outside the story (T1)."""

    model_config = ConfigDict(extra="forbid")

    transient: bool | None = None
    message: str = ""
    gate: str | None = None
    test_output: str | None = None
    failing_tests: list[str] = Field(default_factory=list)
    requirements: list[str] = Field(default_factory=list)
    files_changed: list[str] = Field(default_factory=list)
    out_of_scope: list[str] = Field(default_factory=list)
    touches_stories: list[str] = Field(default_factory=list)
    conflict: Conflict | None = None
    exit_code: int | None = None
    log: str | None = None
    survivors: list[Survivor] = Field(default_factory=list)
    claims: dict[str, object] = Field(default_factory=dict)
    halt: HaltReason | None = None
    """Why the builder halts with this task (A2)."""

    def signature(self, verdict: str) -> str:
        """Two attempts with the same signature failed in the same way (T5, the loop-breaker)."""
        parts = [verdict, self.gate or "", *sorted(self.failing_tests), *sorted(self.requirements)]
        parts += sorted(one.mark for one in self.survivors)
        if self.conflict:
            parts += sorted(self.conflict.conflicting_files)
        return "|".join(parts)
