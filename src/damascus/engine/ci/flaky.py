"""A test that failed and then passed on the same commit: quarantined by its name, told on the pull request (W7).

Quarantined means: where all that failed is known to be flaky, CI runs up to twice more before anyone is blamed. Only a
green run is green.
"""

from pydantic import BaseModel, Field

from damascus.domain.ci_failure import CiClass
from damascus.domain.events import Event, EventKind
from damascus.domain.ids import short
from damascus.domain.ports import CiRun
from damascus.domain.verdict import Phase
from damascus.engine.ci.red import DIAGNOSE
from damascus.engine.ci.waiting import Round
from damascus.engine.judging import Judged
from damascus.engine.run import Run
from damascus.engine.step import Step, StepKind
from damascus.stacks.ci_diagnosis import failing_tests
from damascus.store import flaky
from damascus.store.flaky import FlakyTest


class Recognised(BaseModel):
    """What failed and passed on one commit."""

    tests: list[FlakyTest] = Field(default_factory=list)


FLAKY = Step(
    "flaky", Phase.BUILD, StepKind.EFFECT, Recognised,
    "what failed and then passed is told and quarantined by name",
    also=(Phase.MERGE,),
)  # fmt: skip


def tell_flaky(run: Run, turn: Round, ci: CiRun) -> None:
    """After a green run that was not the first: what was red before it, on the same commit."""
    known = run.result(FLAKY, turn.key)
    found = _recognised(run, turn, ci) if known is None else []
    if found:
        run.effect(
            FLAKY,
            lambda _: _comment(run, ci, found),
            key=turn.key,
            events=lambda done: _events(ci, done.tests),
            with_done=lambda c, done: flaky.record(c, run.item, done.tests, ci.sha),
        )


def tell_unsteady(run: Run, judged: Judged) -> None:
    """What the gates saw green and red on one tree, before anything was pushed: quarantined and told as CI's."""
    found = [FlakyTest(job="verify", test=test) for result in judged.results for test in result.flaky]
    if found:
        run.effect(
            FLAKY,
            lambda _: Recognised(tests=found),
            key=f"verify-{judged.commit}",
            events=lambda done: tuple(_event(one, judged.commit) for one in done.tests),
            with_done=lambda c, done: flaky.record(c, run.item, done.tests, judged.commit),
        )


def _recognised(run: Run, turn: Round, ci: CiRun) -> list[FlakyTest]:
    """Without a name in the log it is the job itself that is told, and never quarantined."""
    seen: dict[tuple[str, str], FlakyTest] = {}
    while turn.earlier:
        turn = turn.before
        red = run.result(DIAGNOSE, turn.key)
        for failure in red.failures if red else []:
            if failure.cls is not CiClass.INFRASTRUCTURE:
                still = _still_failing(run, ci, failure.job)
                names = [test for test in failure.tests if test not in still] if failure.tests else [""]
                seen |= {(failure.job, name): FlakyTest(job=failure.job, test=name) for name in names}
    return list(seen.values())


def _still_failing(run: Run, ci: CiRun, name: str) -> list[str]:
    """A job may be green though a test of it failed: that one has not passed."""
    job = next((job for job in ci.jobs if job.name == name), None)
    return failing_tests(run.tools.forge.ci_log(ci, job)) if job else []


def _comment(run: Run, ci: CiRun, found: list[FlakyTest]) -> Recognised:
    pull = run.tools.forge.find_pull(run.item.branch)
    if pull is not None:
        listed = "\n".join(f"- {one.test or 'the whole job'} ({one.job})" for one in found)
        text = f"Flaky: failed and then passed in CI of {short(ci.sha)}, the same commit.\n\n{listed}"
        run.tools.forge.comment(pull, f"flaky-{ci.sha}", text)
    return Recognised(tests=found)


def _events(ci: CiRun, tests: list[FlakyTest]) -> tuple[Event, ...]:
    return tuple(_event(one, ci.sha) for one in tests)


def _event(one: FlakyTest, commit: str) -> Event:
    return (EventKind.TEST_FLAKY, {"test": one.test, "job": one.job, "commit": commit})
