"""CI of a pushed commit: awaited by its full SHA, and what follows from what it says (W1, W5 to W7, W16).

look → not yet: wait, or ask a person → green: done
                                      → red: log, diagnosis → once more, uncharged → the agent repairs it

Used for the story's own branch, and again for the queue's when others land first. Nothing is remembered of a run that
has not ended: after a restart, and after every wait, CI is asked. A new push is another SHA, so another run.
"""

from typing import Any

from damascus.domain.events import Event, EventKind
from damascus.domain.ids import Sha
from damascus.domain.outcome import Outcome
from damascus.domain.ports import CiRun, WantedJobs
from damascus.domain.spec import Spec
from damascus.domain.verdict import Milestone, Phase
from damascus.engine import milestones
from damascus.engine.ci import waiting
from damascus.engine.ci.flaky import tell_flaky
from damascus.engine.ci.jobs import ci_jobs
from damascus.engine.ci.red import after_red
from damascus.engine.ci.waiting import CI_BEGUN, Begun, PushAgain, Round, wanted_jobs
from damascus.engine.run import Run
from damascus.engine.step import Step, StepKind
from damascus.engine.steps.implement import Made

CI = Step(
    "ci", Phase.BUILD, StepKind.LOCAL, CiRun,
    "every CI job of exactly this commit, looked up by its SHA",
    also=(Phase.MERGE,),
)  # fmt: skip


def await_ci(
    run: Run, spec: Spec, made: Made, commit: Sha, onto: Sha, *, push: PushAgain | None = None
) -> CiRun | Outcome:
    """The green run of this commit, or what follows from its not being green.

    `push` brings the same tree as another commit to where this one is, for a forge that can't run CI once more: then
    the run that is returned is that commit's.
    """
    turn = Round(commit, onto)
    while True:
        ci = _look(run, spec, turn)
        if isinstance(ci, Outcome):
            return ci
        if ci.green(wanted_jobs(run, onto)):
            tell_flaky(run, turn, ci)
            return ci
        following = after_red(run, made, turn, ci, push)
        if isinstance(following, Outcome):
            return following
        turn = following


def _look(run: Run, spec: Spec, turn: Round) -> CiRun | Outcome:
    """Known by full SHA only. A run that has not finished is not recorded: it is looked at again."""
    known = run.result(CI, turn.key)
    if known is not None:
        return known
    run.begin(CI)
    seen = run.tools.forge.ci(turn.commit, ci_jobs(run, spec, turn.commit, turn.onto))
    wanted = wanted_jobs(run, turn.onto)
    not_yet = _not_yet(run, turn, seen, wanted)
    told = seen.model_copy(update={"unverified": seen.waved_through(wanted)})
    return not_yet or run.local(CI, lambda: told, turn.key, lambda: _finished(run, turn, told))


def _not_yet(run: Run, turn: Round, seen: CiRun, wanted: WantedJobs) -> Outcome | None:
    """What there is to wait for, or to ask about; None for a run that has ended and can be judged."""
    if run.tools.forge.runs_ci:
        if not seen.ended(wanted):
            return waiting.waits(run, turn)
        return waiting.lacking(run, turn, seen, wanted)
    if not seen.jobs:
        return waiting.nothing_begun(run, turn)
    _report_run(run, turn, seen)
    if not seen.ended(wanted):
        return waiting.unfinished(run, turn, seen, wanted)
    if seen.provisional:
        return waiting.unproved(run, turn, seen)
    return (
        waiting.just_asked(run, turn) or waiting.just_ended(run, turn, seen) or waiting.lacking(run, turn, seen, wanted)
    )


def _report_run(run: Run, turn: Round, seen: CiRun) -> None:
    """A forge elsewhere gives the run its number only after the push (W3), and its jobs end one by one (W14)."""
    passed = sum(job.state == "success" for job in seen.jobs)
    progress: dict[str, object] = {"jobs_passed": passed, "total_jobs": len(seen.jobs)}
    if seen.run_id and run.milestone == Milestone.PUSHED_TO_CI:
        line = milestones.pushed_line(run.tools.project.repo, turn.commit, seen.run_id)
        begun = Begun(run_id=seen.run_id)
        run.local(CI_BEGUN, lambda: begun, turn.commit, lambda: run.reach(Milestone.PUSHED_TO_CI, line))
    run.reported = {**run.reported, "progress": progress}


def _finished(run: Run, turn: Round, ci: CiRun) -> tuple[Event, ...]:
    body: dict[str, Any] = {"run": ci.run_id, "jobs": {job.name: job.state for job in ci.jobs}, "commit": ci.sha}
    body |= {"again": len(turn.earlier)} if turn.earlier else {}
    wanted = wanted_jobs(run, turn.onto)
    if not ci.green(wanted):
        return ((EventKind.CI_FINISHED, body),)
    config = run.tools.read_config(turn.onto).ci
    mirror = f"{config.mirror_job} awaited on {run.tools.target}" if config.mirror_job else "not configured"
    line = milestones.done_line(run.tools.project.repo, ci, wanted, mirror)
    passed = sum(job.state == "success" for job in ci.jobs)
    return (
        (EventKind.CI_FINISHED, body),
        *run.reach(Milestone.DONE, line, jobs_passed=passed, total_jobs=len(ci.jobs)),
    )
