"""What a red CI job came to, and whether its commit deserves another run (W7).

Who reads a runner's log says which class a failure has (stacks/ci_diagnosis.py); only `infrastructure` is nobody's.
"""

from collections.abc import Collection, Sequence

from pydantic import BaseModel, Field

from damascus.domain.described import Described


class CiClass(Described):
    """What kind of failure it is. Only `infrastructure` is nobody's."""

    INFRASTRUCTURE = "infrastructure", "the job was cancelled, lost its runner or never came to the repository's steps"
    TESTS = "tests", "tests failed, by name where their runner's report shows them"
    LINT = "lint", "a linter, a formatter or a type checker refused"
    BUILD = "build", "it did not compile or could not be packed"
    TIME_OUT = "time_out", "it ran out of time"
    UNKNOWN = "unknown", "it failed and nothing says at what"


class CiFailure(BaseModel):
    """One job that is not green. `evident` is False where the forge merely has no log of it."""

    job: str
    cls: CiClass
    diagnosis: str
    tests: list[str] = Field(default_factory=list)
    evident: bool = True
    log: str = ""
    excerpt: str = ""


class Why(Described):
    """Why a commit's jobs are run once more, uncharged."""

    INFRASTRUCTURE = "infrastructure", "the red jobs say nothing about the commit"
    DOUBT = "doubt", "nobody is blamed for one red run: a test may be flaky"
    FLAKY = "flaky", "all that failed is known to fail and pass on the same commit"


MOST_AGAIN = {Why.INFRASTRUCTURE: 3, Why.DOUBT: 1, Why.FLAKY: 2}


def why_again(failures: Sequence[CiFailure], earlier: Sequence[Why], quarantined: Collection[str]) -> Why | None:
    """Why these failures deserve another run of the same commit; None where they have had theirs. It never makes
    anything green: only a green run does."""
    if is_infrastructure(failures):
        wanted = [Why.INFRASTRUCTURE]
    else:
        wanted = [Why.DOUBT, *([Why.FLAKY] if _all_known(failures, quarantined) else [])]
    return next((why for why in wanted if earlier.count(why) < MOST_AGAIN[why]), None)


def is_infrastructure(failures: Sequence[CiFailure]) -> bool:
    return bool(failures) and all(failure.cls is CiClass.INFRASTRUCTURE for failure in failures)


def _all_known(failures: Sequence[CiFailure], quarantined: Collection[str]) -> bool:
    """Every job that failed for itself names its failed tests, and each of them is quarantined."""
    own = [failure for failure in failures if failure.cls is not CiClass.INFRASTRUCTURE]
    return all(failure.tests and set(failure.tests) <= set(quarantined) for failure in own)
