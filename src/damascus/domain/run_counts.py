"""How the tests of one run ended, in the runner's own numbers and in its own words."""

import re
from collections.abc import Sequence

from pydantic import BaseModel, Field

from damascus.domain.survivors import MutationScore

ONE_OF_SEVERAL = re.compile(r"[#ℹ] (\w{1,20}) \d{1,9}|\d{1,9} (passing|failing|pending)\b.{0,200}")
"""A count per line, as node --test and mocha print them."""
MATTERS = ("pass", "fail", "passing", "failing", "pending")


def own_line(summary: str) -> str:
    """The runner's own line with its counts; where it tells them in several, those that say how it went."""
    lines = [line.strip() for line in summary.splitlines() if line.strip()]
    told: dict[str, str] = {}
    for line in reversed(lines):
        if (found := ONE_OF_SEVERAL.fullmatch(line)) is None:
            break
        told.setdefault(found[1] or found[2], line)
    if counts := [told[word] for word in MATTERS if word in told]:
        return ", ".join(counts)
    if len(lines) > 1 and lines[-2].startswith("Ran "):
        return f"{lines[-2]}, {lines[-1]}"
    return lines[-1] if lines else ""


class RunCounts(BaseModel):
    """`counted` False: the runner tells no numbers. An xpass is no pass, an xfail no skip."""

    counted: bool = False
    total: int = 0
    passed: int = 0
    failed: int = 0
    xfailed: int = 0
    xpassed: int = 0
    skipped: int = 0
    single: bool = False
    """Does the report name every test?"""
    runners: list[str] = Field(default_factory=list)
    summary: str = ""
    """The last lines that it printed, to the letter."""
    differs: list[str] = Field(default_factory=list)
    """Where its report and what it printed tell different numbers."""

    def number(self, name: str) -> int | None:
        return getattr(self, name, None) if self.counted else None


class MutationNumbers(BaseModel):
    """What came out of the mutation run, as the tools counted it."""

    ran: bool = False
    blocked: str = ""
    """Why it could not be run; "" if it could, or was not asked for."""
    scores: list[MutationScore] = Field(default_factory=list)

    @property
    def killed(self) -> int:
        return sum(one.killed + one.timed_out for one in self.scores)

    @property
    def total(self) -> int:
        """Those that could run: what does not compile is no mutant."""
        return sum(one.total - one.unviable for one in self.scores)

    @property
    def share(self) -> float | None:
        """In percent, cut and never rounded: 99.96 is 99.9."""
        return self.killed * 1000 // self.total / 10 if self.total else None


def known_numbers(runs: Sequence[RunCounts], name: str) -> set[int]:
    """Every value of that name that a runner has told."""
    return {value for run in runs if (value := run.number(name)) is not None}
