"""CI of a pushed commit: awaited by its full SHA, and what a red run means (W1, W5 to W7).

Used for the story's own branch, and again for the queue's when others land first.
"""

from datetime import timedelta
from typing import Any

from damascus.domain.feedback import VerdictFeedback, clean
from damascus.domain.ids import Sha
from damascus.domain.outcome import Outcome, Rejected, Wait
from damascus.domain.policy import Event
from damascus.domain.ports import CiRun, Job
from damascus.domain.spec import Spec
from damascus.domain.verdict import Milestone, Verdict
from damascus.engine import milestones
from damascus.engine.phases.implement import Made
from damascus.engine.run import Run
from damascus.engine.sending import passed_on


def await_ci(run: Run, spec: Spec, made: Made, commit: Sha, onto: Sha) -> CiRun | Outcome:
    """The green run of exactly this commit, or what follows from its not being green."""
    ci = _ci(run, spec, commit, onto)
    if not ci.finished:
        return Wait("ci", commit, timedelta(seconds=run.tools.read_config(onto).ci.look_seconds), "CI runs")
    if not ci.green(required_jobs(run, onto)):
        return _ci_red(run, ci, made)
    return ci


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


def required_jobs(run: Run, onto: Sha) -> list[str]:
    ci = run.tools.read_config(onto).ci
    return list(ci.required or ci.jobs or ["test"])


def _ci(run: Run, spec: Spec, commit: Sha, onto: Sha) -> CiRun:
    """Known by full SHA only. A run that has not finished is not recorded: it is looked at again."""
    known = run.result("ci", CiRun, commit)
    if known is not None:
        return known
    seen = run.tools.forge.ci(commit, ci_jobs(run, spec, commit, onto))
    if not seen.finished:
        return seen
    return run.local("ci", CiRun, lambda: seen, commit, lambda: _ci_events(run, seen, onto))


def _ci_events(run: Run, ci: CiRun, onto: Sha) -> tuple[Event, ...]:
    required = required_jobs(run, onto)
    body: dict[str, Any] = {"run": ci.run_id, "jobs": {job.name: job.state for job in ci.jobs}, "commit": ci.sha}
    passed = sum(job.state == "success" for job in ci.jobs)
    progress: dict[str, object] = {"jobs_passed": passed, "total_jobs": len(ci.jobs)}
    if ci.green(required):
        line, to = milestones.done_line(run.item.project, ci, required), Milestone.DONE
    else:
        line, to = milestones.fixing_line(_red_jobs(ci), "see its log"), Milestone.FIXING_CI
        progress |= {"diagnosis_complete": True, "fix_applied": False, "verified": False}
    return (("ci.finished", body), *run.reach(to, line, **progress))


def _red_jobs(ci: CiRun) -> str:
    return ", ".join(job.name for job in ci.jobs if job.state != "success") or "no job"


def _ci_red(run: Run, ci: CiRun, made: Made) -> Rejected:
    red = [job for job in ci.jobs if job.state != "success"]
    feedback = VerdictFeedback(
        message=f"CI run #{ci.run_id} is not green: {_red_jobs(ci)}",
        gate="ci",
        failing_tests=sorted(job.name for job in red),
        test_output=clean("\n".join(job.summary for job in red)),
        files_changed=made.files_changed,
        log=next((job.log for job in red if job.log), None),
    )
    return Rejected(Verdict.CI_FAILED, feedback)
