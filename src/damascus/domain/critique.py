"""What a critic says, and what may be made of it.

A critic's words can only lower what evidence gives (domain/requirement_status.py). A report that can't be read as one
of these is no review at all: BLOCKED, never VERIFIED.
"""

from collections.abc import Iterable
from typing import Annotated, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from damascus.domain.described import Described
from damascus.domain.visible import visible


class ReviewStatus(Described):
    """How a review ended."""

    VERIFIED = "VERIFIED", "it is good enough for its purpose, and the critic says why"
    UNVERIFIED = "UNVERIFIED", "it is not: the concerns say what is wrong"
    BLOCKED = "BLOCKED", "it could not be reviewed: what is missing is named"


class RequirementStatus(Described):
    """How far a requirement is proved; from the highest to the lowest."""

    FULLY_VERIFIED = "FULLY_VERIFIED", "every test of it passes, a negative case among them, and its code was found"
    MVP_VERIFIED = "MVP_VERIFIED", "every MVP test of it passes; only tests tagged EXT or FUTURE are expected to fail"
    PARTIAL = "PARTIAL", "a test fails, or tests, code or the death of a mutant are missing; the gap is named"
    UNKNOWN = "UNKNOWN", "which tests or code belong to it can't be established: a critic has to look"

    @property
    def ready(self) -> bool:
        return self in (RequirementStatus.FULLY_VERIFIED, RequirementStatus.MVP_VERIFIED)

    @classmethod
    def lowest(cls, statuses: Iterable["RequirementStatus"]) -> "RequirementStatus":
        order = list(cls)
        return max(statuses, key=order.index)


class Concern(BaseModel):
    """One thing that a critic or an author holds against the work."""

    model_config = ConfigDict(extra="ignore")

    what: str
    where: str = ""
    """`file:line`, a test, or a document."""
    requirement: str = ""
    severity: str = ""

    @property
    def told(self) -> str:
        place = f" ({self.where})" if self.where else ""
        return f"{self.requirement + ': ' if self.requirement else ''}{self.what}{place}"


def _objects(told: object) -> object:
    """A concern may be one sentence."""
    if not isinstance(told, list):
        return [{"what": told}] if isinstance(told, str) and told else told
    return [{"what": each} if isinstance(each, str) else each for each in told]


def _listed(told: object) -> object:
    return ([told] if told else []) if isinstance(told, str) else told


Concerns = Annotated[list[Concern], BeforeValidator(_objects)]
Sentences = Annotated[list[str], BeforeValidator(_listed)]


class RequirementWord(BaseModel):
    """A critic's word for one requirement: a claim, which can lower what is computed and never raise it."""

    model_config = ConfigDict(extra="ignore")

    id: str
    status: RequirementStatus = RequirementStatus.UNKNOWN
    tests: list[str] = Field(default_factory=list)
    code: list[str] = Field(default_factory=list)
    """`file:line` or `file:first-last`."""


class Critique(BaseModel):
    """A critic's whole report, as docs/flow.md publishes it."""

    model_config = ConfigDict(extra="ignore")

    status: ReviewStatus = ReviewStatus.BLOCKED
    can_further_iteration_help: bool = False
    concerns: Concerns = Field(default_factory=list)
    missing: Sentences = Field(default_factory=list)
    requirements: list[RequirementWord] = Field(default_factory=list)
    recommended_next: str = ""
    """Advice only: nothing is decided by it."""
    summary: str = ""

    @property
    def asks_for_more(self) -> bool:
        """Not good enough, and its author could cure that."""
        return self.status is ReviewStatus.UNVERIFIED and self.can_further_iteration_help

    @property
    def unreadable(self) -> str:
        """Why this is no review; "" if it is one."""
        if self.status is ReviewStatus.VERIFIED and not visible(self.summary):
            return "VERIFIED without a reason"
        if self.status is ReviewStatus.UNVERIFIED and not any(visible(each.what) for each in self.concerns):
            return "UNVERIFIED without a concern"
        if self.status is ReviewStatus.BLOCKED and not any(map(visible, self.missing)):
            return "BLOCKED without saying what is missing"
        return ""

    @classmethod
    def none_because(cls, why: str) -> Self:
        """Stands for a review that was not made."""
        return cls(status=ReviewStatus.BLOCKED, missing=[why])
