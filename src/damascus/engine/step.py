"""What a step is: its name in the journal, the phases whose scripts take it, how it may be repeated, what it returns.

A step is defined once, beside the code that does it, and used by that object: `run.local(VERIFY, …)` runs it,
`run.result(VERIFY)` and `run.latest(VERIFY)` read it, typed. Whatever is defined is registered, so the step table of
lifecycle.py, of the documents and of the crash tests is the steps that run.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Generic, Literal, TypeVar

from pydantic import BaseModel

from damascus.domain.roles import Role
from damascus.domain.verdict import Phase

R = TypeVar("R", bound=BaseModel)


class StepKind(StrEnum):
    """How often a step may run."""

    LOCAL = "local"
    """May run again after a crash."""
    EFFECT = "effect"
    """Changes something outside: intent, effect, done. A second try finds the first."""
    AGENT = "agent"
    """An effect that costs money: never again once it is done."""
    PERSON = "person"
    """Written by a person's answer; the script only reads it."""


@dataclass(frozen=True)
class Step(Generic[R]):
    """`phase` is where it belongs; `also` are the other phases whose scripts take it."""

    name: str
    phase: Phase
    kind: StepKind
    returns: type[R]
    does: str
    also: tuple[Phase, ...] = ()
    role: Role | Literal[""] = ""
    """Of an agent step: who is sent."""

    def __post_init__(self) -> None:
        if self.name in _DEFINED:
            raise ValueError(f"there are two steps of the name {self.name}")
        if (self.kind is StepKind.AGENT) != bool(self.role):
            raise ValueError(f"the step {self.name} is of kind {self.kind}: an agent's step, and only that, has a role")
        _DEFINED[self.name] = self

    @property
    def phases(self) -> tuple[Phase, ...]:
        return (self.phase, *self.also)

    def parse(self, output: object) -> R:
        """What the journal holds of it."""
        return self.returns.model_validate(output)


_DEFINED: dict[str, Step[Any]] = {}


def other_steps(known: Iterable[Step[Any]]) -> tuple[Step[Any], ...]:
    """All steps but these, by phase and name."""
    names, order = {step.name for step in known}, list(Phase)
    rest = (step for step in _DEFINED.values() if step.name not in names)
    return tuple(sorted(rest, key=lambda step: (order.index(step.phase), step.name)))


def agent_steps() -> tuple[Step[Any], ...]:
    return tuple(step for step in _DEFINED.values() if step.kind is StepKind.AGENT)


class Outputs:
    """What earlier runs of an item left in the journal, by step."""

    def __init__(self, by_name: dict[str, Any]) -> None:
        self._by_name = by_name

    def of(self, step: Step[R]) -> R | None:
        found = self._by_name.get(step.name)
        return None if found is None else step.parse(found)
