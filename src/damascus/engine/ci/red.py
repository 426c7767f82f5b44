"""A red CI run: log fetched, failure diagnosed, run once more where that may help, else given to the agent (W7).

Nobody is blamed for what an infrastructure did, nor for one red run where the forge can repeat it on the same commit.
What is red twice is red: no opinion makes it green.
"""

import re

from pydantic import BaseModel, Field

from damascus.domain.ci_failure import CiClass, CiFailure, Why, is_infrastructure, why_again
from damascus.domain.events import Event, EventKind
from damascus.domain.feedback import VerdictFeedback
from damascus.domain.ids import Sha, short
from damascus.domain.outcome import NeedsPerson, Outcome, Rejected, Wait
from damascus.domain.policy import RETRY_OPTIONS
from damascus.domain.ports import CiJob, CiRun, WantedJobs
from damascus.domain.storable import clean
from damascus.domain.verdict import Milestone, Phase, Verdict
from damascus.engine import milestones
from damascus.engine.ci.waiting import CI_RERUN, PushAgain, Rerun, Round, ask, longer_than, settings, waits, wanted_jobs
from damascus.engine.run import Run
from damascus.engine.step import Step, StepKind
from damascus.engine.steps.implement import Made
from damascus.stacks.ci_diagnosis import classify
from damascus.stacks.ci_log import relevant
from damascus.store import flaky
from damascus.store.db import database_clock

LOG_WAIT = 60.0
"""A forge may have a job's log only a while after its end."""
EXCERPTS = 5900
"""What all excerpts together may take, heads included: a brief shows 6000 characters of output."""
HEAD = 250
SMALLEST = 300
RERUN = re.compile(r"^Damascus-Rerun: \d+\n", re.MULTILINE)


class Diagnosis(BaseModel):
    """Why each red job is red."""

    failures: list[CiFailure] = Field(default_factory=list)


class Anew(BaseModel):
    """The same tree as another commit."""

    commit: str


class Blamed(BaseModel):
    """The jobs that the story is to repair."""

    jobs: list[str]


DIAGNOSE = Step(
    "diagnose", Phase.BUILD, StepKind.LOCAL, Diagnosis, "the red jobs' logs, cut and classified", also=(Phase.MERGE,)
)
CI_ANEW = Step(
    "ci_anew", Phase.BUILD, StepKind.LOCAL, Anew,
    "the same tree as another commit, where the forge can't do that",
    also=(Phase.MERGE,),
)  # fmt: skip
CI_RED = Step(
    "ci_red", Phase.BUILD, StepKind.LOCAL, Blamed, "milestone FIXING_CI: the story is to repair it", also=(Phase.MERGE,)
)


def after_red(run: Run, made: Made, turn: Round, ci: CiRun, push: PushAgain | None) -> Round | Outcome:
    """The next run to look at, or what becomes of the story."""
    found = _diagnose(run, turn, ci)
    if isinstance(found, Wait):
        return found
    asked = _once_more(run, turn, ci, found.failures)
    if isinstance(asked, Wait):
        return asked
    if asked is not None and asked.how == "rerun":
        return turn.again(asked.why)
    if not run.tools.forge.runs_ci and is_infrastructure(found.failures):
        if asked is None:
            return _still_outside(turn, ci, found.failures)
        if any(failure.evident for failure in found.failures):
            return _anew(run, turn, ci, push)
    return _red(run, made, turn, ci, found.failures)


# ── diagnosis ─────────────────────────────────────────────────────────────────────────────────────────


def _diagnose(run: Run, turn: Round, ci: CiRun) -> Diagnosis | Wait:
    known = run.result(DIAGNOSE, turn.key)
    if known is not None:
        return known
    run.begin(DIAGNOSE)
    red = _red_jobs(ci, wanted_jobs(run, turn.onto))
    logs = [run.tools.forge.ci_log(ci, job) for job in red]
    late = [job.name for job, log in zip(red, logs, strict=True) if not log and job.state == "failure"]
    if late and not run.tools.forge.runs_ci and not longer_than(run, f"{turn.key} no log", LOG_WAIT):
        return waits(run, turn, f"the log of the CI job {late[0]} is not there yet")
    room = max(SMALLEST, EXCERPTS // max(1, len(red)) - HEAD)
    failures = [_failure(run, turn, job, log, room) for job, log in zip(red, logs, strict=True)]
    return run.local(DIAGNOSE, lambda: Diagnosis(failures=failures), turn.key)


def _red_jobs(ci: CiRun, wanted: WantedJobs) -> list[CiJob]:
    """All that count, those that the project names first."""
    red = [job for job in ci.judged(wanted) if job.state in ("failure", "cancelled")]
    return sorted(red, key=lambda job: job.name not in wanted.required)


def _failure(run: Run, turn: Round, job: CiJob, log: str, room: int) -> CiFailure:
    path = job.log or (_saved(run, turn, job, log) if log else "")
    return classify(job, log).model_copy(update={"log": path, "excerpt": clean(relevant(log, room))})


def _saved(run: Run, turn: Round, job: CiJob, log: str) -> str:
    limit = run.tools.read_config(turn.onto).limits.log_max_mb * 1_000_000
    name = re.sub(r"[^\w.-]+", "-", job.name)[:80]
    run.folder.mkdir(parents=True, exist_ok=True)
    path = run.folder / f"ci-{name}-{short(turn.commit)}-{len(turn.earlier)}.log"
    path.write_text(clean(log, limit), encoding="utf-8")
    return str(path)


# ── once more ─────────────────────────────────────────────────────────────────────────────────────────


def _once_more(run: Run, turn: Round, ci: CiRun, failures: list[CiFailure]) -> Rerun | Wait | None:
    """Rerun for in this very moment: waited for. Before: what came of it. None: it has had its chances."""
    if run.tools.forge.runs_ci:
        return None
    asked = run.result(CI_RERUN, turn.key)
    if asked is not None:
        return asked
    why = why_again(failures, turn.earlier, flaky.quarantined(run.tools.db, run.item.repo_id))
    if why is None:
        return None
    asked = run.effect(
        CI_RERUN,
        lambda _: _ask_for(run, turn, ci, failures, why),
        key=turn.key,
        intent=lambda: {"commit": turn.commit, "jobs": [failure.job for failure in failures], "why": why},
        events=lambda done: _told_again(ci, failures, done),
    )
    return waits(run, turn, "CI runs again") if asked.how == "rerun" else asked


def _ask_for(run: Run, turn: Round, ci: CiRun, failures: list[CiFailure], why: Why) -> Rerun:
    """Where a try before this one has asked already, the jobs run again or have run: nothing is asked twice."""
    run.assert_held()
    done = run.tools.forge.rerun(ci, [failure.job for failure in failures])
    return Rerun(why=why, how="rerun" if done else "refused", at=database_clock(run.tools.db))


def _told_again(ci: CiRun, failures: list[CiFailure], asked: Rerun) -> tuple[Event, ...]:
    jobs: dict[str, object] = {failure.job: failure.diagnosis for failure in failures}
    body: dict[str, object] = {"commit": ci.sha, "run": ci.run_id, "why": asked.why, "jobs": jobs}
    return ((EventKind.CI_AGAIN, body),) if asked.how == "rerun" else ()


def _anew(run: Run, turn: Round, ci: CiRun, push: PushAgain | None) -> Round | Outcome:
    """The forge can't repeat a run: the same tree is pushed as another commit, which triggers one."""
    if push is None:
        return ask(f"CI run #{ci.run_id} of {short(turn.commit)} was cut short. Run it again on the forge.")
    fresh = Sha(run.local(CI_ANEW, lambda: _same_tree(run, turn), turn.key).commit)
    return push(fresh) or turn.again(Why.INFRASTRUCTURE, fresh)


def _same_tree(run: Run, turn: Round) -> Anew:
    mirror = run.tools.mirror
    text = RERUN.sub("", mirror.message(turn.commit)).rstrip("\n")
    message = f"{text}\nDamascus-Rerun: {len(turn.earlier) + 1}\n"
    return Anew(
        commit=mirror.commit_tree(
            mirror.tree(turn.commit), [mirror.parent(turn.commit)], message, mirror.author(turn.commit)
        )
    )


def _still_outside(turn: Round, ci: CiRun, failures: list[CiFailure]) -> NeedsPerson:
    told = "; ".join(f"{failure.job}: {failure.diagnosis}" for failure in failures)
    return ask(
        f"CI run #{ci.run_id} of {short(turn.commit)} could not judge the commit, also after "
        f"{turn.earlier.count(Why.INFRASTRUCTURE)} more runs ({told}). Look at the runner (damascus forge doctor)."
    )


# ── red ───────────────────────────────────────────────────────────────────────────────────────────────


def _red(run: Run, made: Made, turn: Round, ci: CiRun, failures: list[CiFailure]) -> Outcome:
    blamed = Blamed(jobs=[failure.job for failure in failures])
    run.local(CI_RED, lambda: blamed, turn.key, lambda: _fixing(run, ci, failures))
    feedback = _feedback(made, ci, failures)
    fixes, known = settings(run, turn).fixes, run.tools.db.one("ci_fixes", item=run.item.id)
    if known is None or known["fixes"] < fixes:
        return Rejected(Verdict.CI_FAILED, feedback)
    question = f"{run.item.story_id} is red in CI after {fixes} repairs: {feedback.message}. What should happen?"
    return NeedsPerson(Verdict.CI_FAILED, question, RETRY_OPTIONS, feedback)


def _fixing(run: Run, ci: CiRun, failures: list[CiFailure]) -> tuple[Event, ...]:
    line = milestones.fixing_line(", ".join(failure.job for failure in failures), failures[0].diagnosis)
    passed = sum(job.state == "success" for job in ci.jobs)
    progress: dict[str, object] = {"jobs_passed": passed, "total_jobs": len(ci.jobs)}
    progress |= {"diagnosis_complete": True, "fix_applied": False, "verified": False}
    return run.reach(Milestone.FIXING_CI, line, **progress)


def _feedback(made: Made, ci: CiRun, failures: list[CiFailure]) -> VerdictFeedback:
    """Tests by their names where CI's log shows them, else the jobs: the loop-breaker compares them."""
    named = {failure.job: failure.tests for failure in failures}
    told = "; ".join(f"{failure.job} ({failure.diagnosis})" for failure in failures)
    return VerdictFeedback(
        message=f"CI run #{ci.run_id} is not green: {told}",
        gate="ci",
        failing_tests=sorted({test for job, tests in named.items() for test in tests or [job]}),
        test_output=clean("\n\n".join(_excerpt(failure) for failure in failures)),
        files_changed=made.files_changed,
        log=next((failure.log for failure in failures if failure.log), None),
    )


def _excerpt(failure: CiFailure) -> str:
    kind = "" if failure.cls is CiClass.UNKNOWN else f" [{failure.cls}]"
    return f"── job {failure.job}{kind}: {failure.diagnosis}\n{failure.excerpt}".rstrip()
