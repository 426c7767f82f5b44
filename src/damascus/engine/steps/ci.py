"""CI of a pushed commit: awaited by its full SHA, and what follows from what it says (W1, W5 to W7, W16).

look → not yet: wait, or ask a person → green: done
                                      → red: log, diagnosis → once more, uncharged → the agent repairs it

Used for the story's own branch, and again for the queue's when others land first. Nothing is remembered of a run that
has not ended: after a restart, and after every wait, CI is asked. A new push is another SHA, so another run.
"""

from typing import Any

from damascus.domain.config import Config
from damascus.domain.events import Event, EventKind
from damascus.domain.ids import Sha
from damascus.domain.outcome import Outcome
from damascus.domain.ports import CiRun, GateName, Job, WantedJobs
from damascus.domain.spec import Spec
from damascus.domain.verdict import Milestone, Phase
from damascus.engine import milestones
from damascus.engine.agent_step.sending import passed_on
from damascus.engine.ci import waiting
from damascus.engine.ci.flaky import tell_flaky
from damascus.engine.ci.red import after_red
from damascus.engine.ci.waiting import CI_BEGUN, Begun, PushAgain, Round, wanted_jobs
from damascus.engine.run import Run
from damascus.engine.step import Step, StepKind
from damascus.engine.steps.implement import Made
from damascus.engine.steps.verify import VERIFY
from damascus.stacks.suite import RED_TOO, Suite, suite_of

TEST = "test"
STORY = "story"
"""The default jobs: the project's own suite, and beside it the story's Test Command."""

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


# ── the jobs that CI runs here: the project's own, and beside them the story's Test Command ──────────────────────────


def ci_jobs(run: Run, spec: Spec, commit: Sha, onto: Sha) -> dict[str, Job]:
    """The jobs are named by the base commit's config: no agent can drop one (W1).

    A suite that is red on the base too is no job: the gate `suite` has said which of its tests count, and which not.
    """
    config = run.tools.read_config(onto)
    suite = _suite(run, config, onto)
    if config.ci.jobs or not suite.command or not _suite_passed(run, commit):
        return _made(run, config, commit, config.ci.jobs or {TEST: spec.test_command})
    own = {} if suite.command == spec.test_command else {STORY: spec.test_command}
    return _made(run, config, commit, {TEST: suite.command, **own})


def project_jobs(run: Run, commit: Sha) -> dict[str, Job]:
    """What says something about main itself: no story's Test Command does."""
    config = run.tools.read_config(commit)
    suite = _suite(run, config, commit)
    return _made(run, config, commit, config.ci.jobs or ({TEST: suite.command} if suite.command else {}))


def _suite(run: Run, config: Config, onto: Sha) -> Suite:
    mirror = run.tools.mirror
    return suite_of(config.test, mirror.listing(onto).files, lambda path: mirror.read(onto, path))


def _suite_passed(run: Run, commit: Sha) -> bool:
    judged = run.result(VERIFY, commit)
    suite = judged.of(GateName.SUITE) if judged else None
    return suite is not None and not suite.findings and not any(RED_TOO in name for name in suite.unverified)


def _made(run: Run, config: Config, commit: Sha, commands: dict[str, str]) -> dict[str, Job]:
    tree = run.tools.mirror.tree(commit)
    limit, env = config.test.timeout_seconds, passed_on(config.workspace.env)
    return {
        name: Job(tree, command, limit, f"ci-{name}", run.folder / f"ci-{name}.log", env)
        for name, command in commands.items()
    }
