"""CI of a pushed commit: awaited by its full SHA, and what follows from what it says (W1, W5 to W7, W16).

look → not yet: wait, or ask a person → green: done
                                      → red: log, diagnosis → once more, uncharged → the agent repairs it

Used for the story's own branch, and again for the queue's when others land first. Nothing is remembered of a run that
has not ended: after a restart, and after every wait, CI is asked. A new push is another SHA, so another run.
"""

from typing import Any

from damascus.domain.ids import Sha
from damascus.domain.outcome import Outcome
from damascus.domain.policy import Event
from damascus.domain.ports import CiRun, Job
from damascus.domain.spec import Spec
from damascus.domain.verdict import Milestone
from damascus.engine import milestones
from damascus.engine.phases import ci_patience
from damascus.engine.phases.ci_flaky import tell_flaky
from damascus.engine.phases.ci_red import after_red
from damascus.engine.phases.ci_round import PushAgain, Round, required_jobs
from damascus.engine.phases.implement import Made
from damascus.engine.run import Run
from damascus.engine.sending import passed_on

__all__ = ["await_ci", "ci_jobs", "required_jobs"]


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
        if ci.green(required_jobs(run, onto)):
            tell_flaky(run, turn, ci)
            return ci
        following = after_red(run, made, turn, ci, push)
        if isinstance(following, Outcome):
            return following
        turn = following


def ci_jobs(run: Run, spec: Spec, commit: Sha, onto: Sha) -> dict[str, Job]:
    """The jobs are named by the base commit's config: no agent can drop one (W1)."""
    config = run.tools.read_config(onto)
    commands = config.ci.jobs or {"test": spec.test_command}
    tree = run.tools.mirror.tree(commit)
    limit, env = config.test.timeout_seconds, passed_on(config.workspace.env)
    return {
        name: Job(tree, command, limit, f"ci-{name}", run.folder / f"ci-{name}.log", env)
        for name, command in commands.items()
    }


def _look(run: Run, spec: Spec, turn: Round) -> CiRun | Outcome:
    """Known by full SHA only. A run that has not finished is not recorded: it is looked at again."""
    known = run.result("ci", CiRun, turn.key)
    if known is not None:
        return known
    run.now = "ci"
    seen = run.tools.forge.ci(turn.commit, ci_jobs(run, spec, turn.commit, turn.onto))
    patience = _patience(run, turn, seen)
    return patience or run.local("ci", CiRun, lambda: seen, turn.key, lambda: _finished(run, turn, seen))


def _patience(run: Run, turn: Round, seen: CiRun) -> Outcome | None:
    """What there is to wait for, or to ask about; None for a run that has ended and can be judged."""
    if run.tools.forge.runs_ci:
        if not seen.finished:
            return ci_patience.waits(run, turn)
        return ci_patience.lacking(run, turn, seen, required_jobs(run, turn.onto))
    if not seen.jobs:
        return ci_patience.nothing_begun(run, turn)
    _report_run(run, turn, seen)
    if not seen.finished:
        return ci_patience.unfinished(run, turn, seen)
    if seen.provisional:
        return ci_patience.unproved(run, turn, seen)
    return ci_patience.just_asked(run, turn) or ci_patience.lacking(run, turn, seen, required_jobs(run, turn.onto))


def _report_run(run: Run, turn: Round, seen: CiRun) -> None:
    """A forge elsewhere gives the run its number only after the push (W3), and its jobs end one by one (W14)."""
    passed = sum(job.state == "success" for job in seen.jobs)
    progress: dict[str, object] = {"jobs_passed": passed, "total_jobs": len(seen.jobs)}
    if seen.run_id and run.milestone == Milestone.PUSHED_TO_CI:
        line = milestones.pushed_line(run.tools.project.repo, turn.commit, seen.run_id)
        begun = ci_patience.Begun(run_id=seen.run_id)
        run.local(
            "ci_begun", ci_patience.Begun, lambda: begun, turn.commit, lambda: run.reach(Milestone.PUSHED_TO_CI, line)
        )
    run.reported = {**run.reported, "progress": progress}


def _finished(run: Run, turn: Round, ci: CiRun) -> tuple[Event, ...]:
    body: dict[str, Any] = {"run": ci.run_id, "jobs": {job.name: job.state for job in ci.jobs}, "commit": ci.sha}
    body |= {"again": len(turn.earlier)} if turn.earlier else {}
    required = required_jobs(run, turn.onto)
    if not ci.green(required):
        return (("ci.finished", body),)
    config = run.tools.read_config(turn.onto).ci
    mirror = f"{config.mirror_job} awaited on {run.tools.target}" if config.mirror_job else "not configured"
    line = milestones.done_line(run.tools.project.repo, ci, required, mirror)
    passed = sum(job.state == "success" for job in ci.jobs)
    return (("ci.finished", body), *run.reach(Milestone.DONE, line, jobs_passed=passed, total_jobs=len(ci.jobs)))
