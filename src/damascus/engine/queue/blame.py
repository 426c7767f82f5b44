"""Whose fault is a red candidate? Main is looked at before a story is sent back for it."""

from typing import TypeGuard

from damascus.domain.events import EventKind
from damascus.domain.feedback import VerdictFeedback
from damascus.domain.ids import Sha, short
from damascus.domain.outcome import NeedsPerson, Outcome, Rejected
from damascus.domain.spec import Spec
from damascus.domain.verdict import Verdict
from damascus.engine.ci.waiting import wanted_jobs
from damascus.engine.run import Run
from damascus.engine.steps.ci import CI, ci_jobs, project_jobs


def says_red(tested: Outcome) -> TypeGuard[Rejected | NeedsPerson]:
    """A verdict on the commit, be it with a question; anything else is no verdict."""
    return isinstance(tested, Rejected) or (isinstance(tested, NeedsPerson) and tested.verdict is not None)


def blamed(run: Run, spec: Spec, commit: Sha, onto: Sha, tested: Outcome) -> Outcome:
    """Nothing unproven was beneath what is red: main is looked at, then it is sent back. No verdict stays none."""
    red = _red_on_main(run, spec, commit, onto) if says_red(tested) and tested.verdict == Verdict.CI_FAILED else []
    return _main_is_red(run, onto, red) if red else tested


def _red_on_main(run: Run, spec: Spec, commit: Sha, onto: Sha) -> list[str]:
    """The jobs that failed, as far as they fail without the story too. A Test Command says nothing about main."""
    here = run.result(CI, commit)
    wanted = wanted_jobs(run, onto)
    red = {job.name for job in here.judged(wanted) if job.state == "failure"} if here else set()
    ran, there = ci_jobs(run, spec, commit, onto), project_jobs(run, onto)
    same = {name: job for name, job in there.items() if name in red and ran[name].command == job.command}
    if run.tools.forge.runs_ci and not same:
        return []
    main = run.tools.forge.ci(onto, same)
    return [job.name for job in main.jobs if job.name in red and job.state == "failure"]


def _main_is_red(run: Run, main: Sha, jobs: list[str]) -> NeedsPerson:
    named = ", ".join(jobs)
    question = (
        f"{run.tools.target} itself is red at {short(main)} ({named}), so {run.item.story_id} can't be judged; it is "
        f"not blamed. Mend {run.tools.target}, then retry."
    )
    feedback = VerdictFeedback(message=question, gate="ci", failing_tests=jobs)
    return NeedsPerson(None, question, ("retry", "cancel the story"), feedback, event=EventKind.BLOCKED_MAIN_RED)
