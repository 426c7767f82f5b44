"""How far a requirement is proved: a pure function of evidence. What agents say of it can lower the answer, never raise
it.

A test belongs to a requirement by a marker or docstring that names it, else by its own name. A critic who says which
test or code belongs to it is shown as a claim and proves nothing.
"""

from collections.abc import Iterable, Sequence
from typing import Literal

from pydantic import BaseModel, Field

from damascus.domain.critique import RequirementStatus, RequirementWord
from damascus.domain.described import Described

TestOutcome = Literal["passed", "failed", "error", "skipped", "xfailed", "xpassed"]
SHOWN = 3


class RequirementTag(Described):
    """What a test, or a requirement of a spec, is tagged as."""

    MVP = "MVP", "has to hold now; whatever has no tag is this"
    EXT = "EXT", "an extension: a test of it may be expected to fail or be skipped"
    FUTURE = "FUTURE", "for later: the same, and a requirement so tagged needs no test yet"
    SKIP = "SKIP", "left out on purpose: such a test proves nothing, such a requirement needs none"


LATER = (RequirementTag.FUTURE, RequirementTag.SKIP)
"""A requirement with such a tag is not due: no test is asked for."""
MAY_XFAIL = (RequirementTag.EXT, RequirementTag.FUTURE)
MAY_SKIP = (*MAY_XFAIL, RequirementTag.SKIP)


class MappedTest(BaseModel):
    """A test that belongs to a requirement, with its own outcome on the exact commit."""

    id: str
    outcome: TestOutcome
    by: Literal["marker", "name"] = "name"
    tag: RequirementTag = RequirementTag.MVP
    negative: bool = False
    """It asserts that something is refused or fails, by its source."""
    red: bool = False
    """It failed on the base, without the code."""
    proves: bool = True
    """It can fail, and where a red run tells single tests it was red there; or it was so when the story landed
    before."""
    before: str = ""
    """The commit with which the story landed before, where this test named the requirement already."""

    @property
    def passed(self) -> bool:
        return self.outcome == "passed"


class RequirementEvidence(BaseModel):
    """All that was found of one requirement."""

    id: str
    text: str = ""
    tag: RequirementTag = RequirementTag.MVP
    tests: list[MappedTest] = Field(default_factory=list)
    code: list[str] = Field(default_factory=list)
    """`file:first-last`, by coverage or by mutants that its tests notice."""
    survivors: list[str] = Field(default_factory=list)
    """Mutants on its path that live, and that nobody called equivalent."""
    tests_unmeasured: str = ""
    """Why it can't be told which tests belong to it and how each ended; "" if it can."""
    code_unmeasured: str = ""
    """Why it can't be told which code belongs to it; "" if it can."""

    @property
    def due(self) -> bool:
        return self.tag not in LATER

    @property
    def landed_before(self) -> str:
        """The commit that proved it first, where nothing else does now."""
        proving = [test for test in self.tests if test.passed and test.proves]
        return proving[0].before if proving and all(test.before for test in proving) else ""

    @property
    def touched(self) -> bool:
        return self.due or bool(self.tests)


class ComputedStatus(BaseModel):
    """What evidence gives, and what keeps it from being more."""

    status: RequirementStatus
    gap: str = ""
    unmeasured: bool = False
    """UNKNOWN only because the stack, or how its command reports, can't be measured."""


def computed(found: RequirementEvidence) -> ComputedStatus:
    """From the worst to the best; the first thing that is wrong says what it is."""
    if gap := _broken(found):
        return ComputedStatus(status=RequirementStatus.PARTIAL, gap=gap)
    if why := found.tests_unmeasured or ("" if found.code or found.landed_before else found.code_unmeasured):
        return ComputedStatus(status=RequirementStatus.UNKNOWN, gap=why, unmeasured=True)
    if gap := _missing(found):
        return ComputedStatus(status=RequirementStatus.PARTIAL, gap=gap)
    if gap := _less_than_fully(found):
        return ComputedStatus(status=RequirementStatus.MVP_VERIFIED, gap=gap)
    return ComputedStatus(status=RequirementStatus.FULLY_VERIFIED)


def standing(found: ComputedStatus, words: Iterable[RequirementWord]) -> RequirementStatus:
    """The lowest of what evidence gives and what critics say."""
    return RequirementStatus.lowest([found.status, *(word.status for word in words)])


def above(claimed: RequirementStatus, found: RequirementStatus) -> bool:
    """Is this more than evidence gives?"""
    return RequirementStatus.lowest([claimed, found]) is not claimed


def _broken(found: RequirementEvidence) -> str:
    """Wrong, whatever else is missing or can't be measured."""
    failing = [test.id for test in found.tests if test.outcome in ("failed", "error")]
    if failing:
        return f"failing: {_few(failing)}"
    if found.survivors:
        return f"mutants live: {_few(found.survivors)}"
    loose = [f"{test.id} ({test.outcome})" for test in found.tests if not test.passed and not _permitted(test)]
    return f"did not pass, and is not tagged EXT or FUTURE: {_few(loose)}" if loose else ""


def _permitted(test: MappedTest) -> bool:
    return test.tag in (MAY_SKIP if test.outcome == "skipped" else MAY_XFAIL)


def _missing(found: RequirementEvidence) -> str:
    later = "" if found.due else f" (tagged {found.tag})"
    if not found.tests:
        return f"no test names it{later}"
    if not any(test.passed and test.proves and test.tag not in MAY_SKIP for test in found.tests) and not (
        found.tag in MAY_SKIP and any(test.passed and test.proves for test in found.tests)
    ):
        return f"no test of it proves anything: each was skipped, can't fail, or passes without the code{later}"
    needs_code = not (found.code or found.landed_before)
    return "" if not needs_code else f"none of the changed code was found to be run or needed by its tests{later}"


def _less_than_fully(found: RequirementEvidence) -> str:
    """What an MVP may lack."""
    left = [f"{test.id} ({test.tag}, {test.outcome})" for test in found.tests if not test.passed]
    marked = [test.id for test in found.tests if test.passed and test.tag is RequirementTag.SKIP]
    if left or marked:
        return f"not all of its tests pass: {_few([*left, *(f'{test} (SKIP)' for test in marked)])}"
    return "" if any(test.negative for test in found.tests) else "no negative case: no test of it asserts a refusal"


def _few(names: Sequence[str]) -> str:
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ", ".join(names[:SHOWN]) + more
