"""What an attempt tells the next one: one schema for database, API and agents (T6)."""

import math

from pydantic import BaseModel, ConfigDict, Field

OUTPUT_LIMIT = 32_000
LARGEST_NUMBER = 2**63


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
    claims: dict[str, object] = Field(default_factory=dict)

    def signature(self, verdict: str) -> str:
        """Two attempts with the same signature failed in the same way (T5, the loop-breaker)."""
        parts = [verdict, self.gate or "", *sorted(self.failing_tests), *sorted(self.requirements)]
        if self.conflict:
            parts += sorted(self.conflict.conflicting_files)
        return "|".join(parts)


def clean(text: str | bytes, limit: int = OUTPUT_LIMIT) -> str:
    """Output made fit for a row: decoded with replacement, NUL removed, cut to head and tail.

    PostgreSQL refuses NUL in text and jsonb; without this one stray byte rescues a story forever.
    """
    if isinstance(text, bytes):
        text = text.decode("utf-8", errors="replace")
    text = text.replace("\x00", "").encode("utf-8", errors="replace").decode("utf-8")
    if len(text) <= limit:
        return text
    half = limit // 2
    left_out = len(text) - 2 * half
    return f"{text[:half]}\n… {left_out} characters left out …\n{text[half + left_out :]}"


def storable(value: object) -> object:
    """The same value without what PostgreSQL's jsonb refuses: NUL, infinities, numbers of a thousand digits."""
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, dict):
        return {clean(str(key)): storable(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [storable(each) for each in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, int) and abs(value) >= LARGEST_NUMBER:
        return None
    return value
