"""Mutants that no test notices: what is told of each, and the word of a person who calls some of them equivalent.

A survivor is known by its mark, made of the function that it lies in and the change: a person's word about it holds
for exactly that, in whichever attempt, run or base it comes up again.
"""

from collections.abc import Iterable

from pydantic import BaseModel, ConfigDict, Field

from damascus.domain.question_marks import MUTANTS

MUTATION_OFF = "mutation: off"
NO_FUNCTION = "mutation: no function changed"
"""What is listed where there was nothing to do."""
SHOWN = 20
"""At most as many in one question and one answer to an agent; the next ones come after them."""


class Survivor(BaseModel):
    """One mutant of a changed line that every test stays green with."""

    model_config = ConfigDict(extra="forbid")

    path: str
    line: int
    operator: str
    """What was put for what, in a few words."""
    by: str
    """Who made it: mutmut, Stryker, gremlins, cargo-mutants, or operators of ours."""
    mark: str
    diff: str = ""
    tests: list[str] = Field(default_factory=list)
    """That run the line. Empty where nobody can tell, or none does."""
    covered: bool | None = None
    """Does any test run the line? None: it can't be told."""
    requirements: list[str] = Field(default_factory=list)
    """On whose path it lies: PARTIAL until a test kills it, or a person calls it equivalent."""
    refuses: bool = True
    """Not where the story only moves code about: the tests that were there may have been no better."""

    @property
    def told(self) -> str:
        if self.covered is False:
            who = "no test runs that line"
        else:
            who = f"its tests stay green ({', '.join(self.tests[:3])})" if self.tests else "the tests stay green"
        return f"{self.path}:{self.line} {self.operator}: {who}"


class MutationScore(BaseModel):
    """What became of the mutants of the changed lines, in whole numbers."""

    by: list[str] = Field(default_factory=list)
    """Who made them."""
    killed: int = 0
    survived: int = 0
    timed_out: int = 0
    unviable: int = 0
    """They do not compile."""
    not_run: int = 0
    total: int = 0

    @property
    def told(self) -> str:
        """A share is cut, never rounded: 99.96 % is not 100 %."""
        noticed, of = self.killed + self.timed_out, self.total - self.unviable
        share = f"{noticed * 1000 // of / 10:.1f} %" if of else "none"
        parts = {
            "killed": self.killed,
            "survived": self.survived,
            "timed out": self.timed_out,
            "do not compile": self.unviable,
            "not run": self.not_run,
        }
        counts = ", ".join(f"{number} {name}" for name, number in parts.items() if number)
        return (
            f"{self.total} of changed lines by {', '.join(self.by) or 'nobody'}: {counts or 'none'}; noticed: {share}"
        )


def question_start(survivors: Iterable[Survivor]) -> str:
    """How a question about them begins. What follows may be a story's own words, and means nothing."""
    return f"{MUTANTS} {' '.join(one.mark for one in survivors)}: "


def partial(survivors: Iterable[Survivor]) -> dict[str, list[str]]:
    """By requirement, what keeps it from being verified."""
    lowered: dict[str, list[str]] = {}
    for one in survivors:
        for ident in one.requirements:
            lowered.setdefault(ident, []).append(one.told)
    return lowered
