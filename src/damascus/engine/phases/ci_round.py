"""One run of CI on a commit: the first, or once more. What the parts of the CI step hand to each other."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Literal

from pydantic import BaseModel

from damascus.domain.ci_failure import Why
from damascus.domain.ids import Sha
from damascus.domain.outcome import Outcome
from damascus.domain.ports import WantedJobs
from damascus.engine.run import Run

PushAgain = Callable[[Sha], Outcome | None]
"""Pushes a commit to where the one before it is, fenced and journaled; an outcome where that is refused."""


@dataclass(frozen=True)
class Round:
    """`earlier` says why each run before this one did not count."""

    commit: Sha
    onto: Sha
    earlier: tuple[Why, ...] = ()

    @property
    def key(self) -> str:
        """The first run of a commit is known by its SHA alone."""
        return f"{self.commit}.{len(self.earlier)}" if self.earlier else self.commit

    def again(self, why: Why, commit: Sha | None = None) -> "Round":
        return replace(self, commit=commit or self.commit, earlier=(*self.earlier, why))

    @property
    def before(self) -> "Round":
        return replace(self, earlier=self.earlier[:-1])


class Asked(BaseModel):
    """The forge was asked to run the jobs once more."""

    why: Why
    how: Literal["rerun", "refused"]
    at: datetime


def wanted_jobs(run: Run, onto: Sha) -> WantedJobs:
    """Named by the base commit's config (W1)."""
    return WantedJobs.of(run.tools.read_config(onto).ci)
