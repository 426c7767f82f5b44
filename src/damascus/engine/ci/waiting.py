"""One run of CI on a commit, and how long it is waited for: what a person is asked when it takes too long.

Times are the database's, and the first look at each state is in the journal: a restart does not begin the wait anew.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Literal

from pydantic import BaseModel

from damascus.domain.ci_failure import Why
from damascus.domain.config import CiConfig
from damascus.domain.feedback import VerdictFeedback
from damascus.domain.ids import Sha, short
from damascus.domain.outcome import NeedsPerson, Outcome, Wait
from damascus.domain.policy import RETRY_OPTIONS
from damascus.domain.ports import CiRun, WantedJobs
from damascus.domain.ports.forges import AT_WORK
from damascus.domain.recovery import CANCEL, LOOK_AGAIN
from damascus.domain.verdict import Phase
from damascus.domain.waits import WaitKind
from damascus.engine.run import Run
from damascus.engine.step import Step, StepKind
from damascus.store.db import database_clock

WORKFLOWS = (".gitea/workflows", ".forgejo/workflows", ".github/workflows")
RETRY = RETRY_OPTIONS[0]
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


class Rerun(BaseModel):
    """The forge was asked to run the jobs once more."""

    why: Why
    how: Literal["rerun", "refused"]
    at: datetime


class Since(BaseModel):
    """When something was first seen to be so."""

    at: datetime


class Begun(BaseModel):
    """The forge has a run for the commit."""

    run_id: str


CI_SINCE = Step(
    "ci_since", Phase.BUILD, StepKind.LOCAL, Since, "since when CI shows nothing new of a commit", also=(Phase.MERGE,)
)
CI_BEGUN = Step(
    "ci_begun", Phase.BUILD, StepKind.LOCAL, Begun, "the number that the forge gave the run", also=(Phase.MERGE,)
)
CI_RERUN = Step(
    "ci_rerun", Phase.BUILD, StepKind.EFFECT, Rerun,
    "the forge runs the red jobs of the same commit once more",
    also=(Phase.MERGE,),
)  # fmt: skip


def wanted_jobs(run: Run, onto: Sha) -> WantedJobs:
    """Named by the base commit's config (W1)."""
    return WantedJobs.of(run.tools.read_config(onto).ci)


def since(run: Run, what: str) -> timedelta:
    """How long it has been so, in this run of the script."""
    now = database_clock(run.tools.db)
    first = run.local(CI_SINCE, lambda: Since(at=now), what)
    return now - first.at


def longer_than(run: Run, what: str, seconds: float) -> bool:
    return since(run, what) >= timedelta(seconds=seconds)


def ask(trouble: str, *, on_main: bool = False) -> NeedsPerson:
    """Nobody's fault and no agent's work: what is mended outside, the same run goes on with. What is mended by a commit
    on main (`on_main`) needs a new one, which begins there."""
    question = f"{trouble} Then {'retry' if on_main else 'let CI be looked at again'}."
    options = (RETRY, LOOK_AGAIN, CANCEL) if on_main else (LOOK_AGAIN, RETRY, CANCEL)
    return NeedsPerson(None, question, options, VerdictFeedback(message=question, gate="ci"))


def waits(run: Run, turn: Round, message: str = "CI runs") -> Wait:
    return Wait(WaitKind.CI, turn.commit, timedelta(seconds=settings(run, turn).look_seconds), message)


def settings(run: Run, turn: Round) -> CiConfig:
    return run.tools.read_config(turn.onto).ci


# ── not begun, not finished ───────────────────────────────────────────────────────────────────────────


def nothing_begun(run: Run, turn: Round) -> Outcome:
    limit = settings(run, turn).no_run_seconds
    if not longer_than(run, f"{turn.key} nothing", limit):
        return waits(run, turn, "CI has not begun")
    told = f"CI has not begun for {short(turn.commit)} of {run.item.story_id}, {limit:.0f} s after it was pushed."
    if not run.tools.mirror.listing(turn.commit).folders & set(WORKFLOWS):
        needs = f"{run.tools.target} needs one below {' or '.join(WORKFLOWS)}."
        return ask(f"{told} It has no workflow: {needs}", on_main=True)
    return ask(
        f"{told} Check that Actions are enabled for the repository and that a workflow runs on pushes to "
        f"{run.item.branch} and to mq/** (damascus forge doctor)."
    )


def unfinished(run: Run, turn: Round, seen: CiRun, wanted: WantedJobs) -> Outcome:
    """A job may wait for another that runs, and a run may take long as long as jobs end."""
    judged = seen.judged(wanted)
    running = [job.name for job in judged if job.state == "running"]
    queued = [job.name for job in judged if job.state == "waiting"]
    ended = len(judged) - len(running) - len(queued)
    ci, which = settings(run, turn), f"of CI run #{seen.run_id} ({short(turn.commit)})"
    if running:
        if not longer_than(run, f"{turn.key} running {ended}", ci.running_seconds):
            return waits(run, turn)
        return ask(
            f"The job {running[0]} {which} runs, and none has ended for {ci.running_seconds:.0f} s. End it on the "
            "forge, or give it more time ([ci] running_seconds)."
        )
    if not longer_than(run, f"{turn.key} queued {ended}", ci.queued_seconds):
        return waits(run, turn)
    return ask(
        f"No runner takes the job {queued[0]} {which} for {ci.queued_seconds:.0f} s. Start one that has the label of "
        "its runs-on, or wait until one is free ([ci] queued_seconds; damascus forge doctor)."
    )


def just_asked(run: Run, turn: Round) -> Wait | None:
    """The forge may still tell of the run before: what it says is believed one look after it was asked."""
    asked = run.result(CI_RERUN, turn.before.key) if turn.earlier else None
    if asked is None or asked.how != "rerun":
        return None
    look = timedelta(seconds=settings(run, turn).look_seconds)
    return waits(run, turn, "CI runs again") if database_clock(run.tools.db) < asked.at + look else None


def just_ended(run: Run, turn: Round, seen: CiRun) -> Wait | None:
    """Optional jobs are at work, all others have ended. A forge may show a job only when it begins: it is given one
    more look."""
    look = settings(run, turn).look_seconds
    ended = sum(job.state not in AT_WORK for job in seen.jobs)
    if seen.finished or longer_than(run, f"{turn.key} rest {ended}", look):
        return None
    return waits(run, turn, "only optional CI jobs are at work")


# ── finished, and yet no proof ────────────────────────────────────────────────────────────────────────


def unproved(run: Run, turn: Round, seen: CiRun) -> Outcome:
    """W6: a run that is not known by its SHA may be awaited; it makes nothing green or red."""
    if not longer_than(run, f"{turn.key} unproved", settings(run, turn).no_run_seconds):
        return waits(run, turn, "CI has ended; whether for this commit is not proved yet")
    return ask(
        f"CI run #{seen.run_id} has ended, but nothing proves that it was for {short(turn.commit)}: neither the run "
        "nor its log names the commit. Let a step of the workflow print the SHA that it checks out.",
        on_main=True,
    )


def lacking(run: Run, turn: Round, seen: CiRun, wanted: WantedJobs) -> Outcome | None:
    """A job that is skipped, or required and missing, though nothing failed is not green, and nobody's fault."""
    states = {job.name: job.state for job in seen.judged(wanted)}
    missing = [name for name in wanted.required if name not in states]
    absent = [*missing, *(name for name, state in states.items() if state == "skipped")]
    if not absent or any(state in ("failure", "cancelled") for state in states.values()):
        return None
    limit = settings(run, turn).no_run_seconds
    if not run.tools.forge.runs_ci and not longer_than(run, f"{turn.key} lacking", limit):
        return waits(run, turn, f"the CI job {absent[0]} has not begun")
    what = "skipped" if absent[0] in states else "missing"
    shown = ", ".join(sorted(job.name for job in seen.jobs)) or "none"
    return ask(
        f"The CI job {absent[0]} is {what} in run #{seen.run_id} of {short(turn.commit)} (its jobs: {shown}), so it "
        f"can't be green. {_named_by(run, turn, absent[0], wanted)} Correct that or the workflow.",
        on_main=True,
    )


def _named_by(run: Run, turn: Round, name: str, wanted: WantedJobs) -> str:
    ci = settings(run, turn)
    where = f"damascus.toml on {run.tools.target}"
    if name not in wanted.required:
        return f"Every job must be a success, but those that [ci] optional in {where} names; it names others."
    if ci.required:
        return f"It is named under [ci] required in {where}."
    if ci.jobs:
        return f"It is named under [ci.jobs] in {where}."
    return f"It is the default, because [ci] required is not set in {where}."
