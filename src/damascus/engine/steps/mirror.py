"""The mirror job on the landed commit of main: a story is done once its work is where main is mirrored to (W1, W2).

The landed commit was tested under the same SHA before, where its condition skips the mirror job: the run of main itself
may begin a while later. A commit that came after and contains ours carries it along.
"""

from dataclasses import dataclass
from datetime import timedelta

from pydantic import BaseModel

from damascus.domain.config import CiConfig
from damascus.domain.events import Event, EventKind
from damascus.domain.ids import Sha, short
from damascus.domain.outcome import NeedsPerson, Outcome, Wait
from damascus.domain.ports import CiJob, CiRun, Job, Stale
from damascus.domain.spec import parse_spec
from damascus.domain.verdict import Milestone, Phase
from damascus.domain.waits import WaitKind
from damascus.engine import milestones
from damascus.engine.ci.waiting import ask, longer_than, wanted_jobs
from damascus.engine.run import Run
from damascus.engine.step import Step, StepKind
from damascus.engine.steps.ci import CI, ci_jobs, project_jobs
from damascus.stacks.ci_diagnosis import classify

NOT_CONFIGURED = "not configured"
TRAILER = "Damascus-Mirror: "
LOOK_BACK = 200


class Mirrored(BaseModel):
    """The mirror job's success, and the commit of main that it was for."""

    state: str
    commit: str
    run_id: str


class Retriggered(BaseModel):
    """Main has a commit after the landed one, whose push is an event of its own."""

    commit: str


MIRROR = Step("mirror", Phase.MERGE, StepKind.LOCAL, Mirrored, "the mirror job's success on main")
MIRROR_RETRIGGER = Step(
    "mirror_retrigger", Phase.MERGE, StepKind.EFFECT, Retriggered, "one empty commit on main, where the job was skipped"
)


@dataclass(frozen=True)
class MirrorJobRun:
    """The run that is judged, and the mirror job in it."""

    commit: Sha
    ci: CiRun
    job: CiJob | None

    @property
    def state(self) -> str:
        return self.job.state if self.job else ""

    @property
    def proved(self) -> bool:
        return self.state == "success" and not self.ci.provisional


def await_mirror(run: Run, merged: Sha) -> Outcome | str:
    """The mirror's state that DONE names, once it is a success; until then what is waited for or asked."""
    config = run.tools.read_config(merged).ci
    if not config.mirror_job:
        return NOT_CONFIGURED
    known = run.result(MIRROR, merged)
    if known is not None:
        return known.state
    run.begin(MIRROR)
    seen = _look(run, merged, config.mirror_job)
    if not seen.proved:
        return _not_mirrored(run, merged, seen, config)
    done = Mirrored(state=f"{config.mirror_job} success", commit=seen.commit, run_id=seen.ci.run_id)
    return run.local(MIRROR, lambda: done, merged, lambda: _mirrored_events(run, merged, done)).state


# ── which run ─────────────────────────────────────────────────────────────────────────────────────────


def _look(run: Run, merged: Sha, name: str) -> MirrorJobRun:
    """The landed commit's own run, our retrigger's, or that of main as it is now: whichever succeeded, or the last."""
    retriggered = run.result(MIRROR_RETRIGGER, merged)
    tip = run.tools.forge.main_tip()
    later = [Sha(retriggered.commit)] if retriggered else []
    later += [tip] if run.tools.mirror.is_ancestor(merged, tip) else []
    seen = _seen(run, merged, name)
    for commit in dict.fromkeys(later):
        if not seen.proved and commit != seen.commit:
            seen = _seen(run, commit, name)
    return seen


def _seen(run: Run, commit: Sha, name: str) -> MirrorJobRun:
    ci = run.tools.forge.ci(commit, _jobs(run, commit, name))
    return MirrorJobRun(commit, ci, next((job for job in ci.jobs if job.name == name), None))


def _jobs(run: Run, commit: Sha, name: str) -> dict[str, Job]:
    """Where we run CI ourselves it is the one job that we run here."""
    if not run.tools.forge.runs_ci:
        return {}
    spec = parse_spec(run.item.spec, run.item.spec_path)
    jobs = project_jobs(run, commit) or ci_jobs(run, spec, commit, commit)
    return {key: job for key, job in jobs.items() if key == name}


# ── not a success ─────────────────────────────────────────────────────────────────────────────────────


def _not_mirrored(run: Run, merged: Sha, seen: MirrorJobRun, config: CiConfig) -> Outcome:
    match seen.state:
        case "failure" | "cancelled":
            return _failed(run, seen)
        case "skipped":
            return _skipped(run, merged, seen, config)
        case "" if (seen.ci.finished or run.tools.forge.runs_ci) and _over(run, seen, config.no_run_seconds):
            return _missing(run, seen, config)
        case "waiting" if _unmoved(seen) and _over(run, seen, config.queued_seconds):
            return ask(f"No runner takes the job {config.mirror_job} of {_where(run, seen)}. Start one.")
        case "running" if _over(run, seen, config.running_seconds):
            return ask(
                f"The job {config.mirror_job} of {_where(run, seen)} has not ended for {config.running_seconds:.0f} s. "
                "End it on the forge, or give it more time ([ci] running_seconds)."
            )
        case _:
            return _wait(seen, config)


def _wait(seen: MirrorJobRun, config: CiConfig) -> Wait:
    return Wait(
        WaitKind.MIRROR, seen.commit, timedelta(seconds=config.look_seconds), f"the job {config.mirror_job} on main"
    )


def _over(run: Run, seen: MirrorJobRun, seconds: float) -> bool:
    return run.tools.forge.runs_ci or longer_than(run, f"{seen.commit} mirror {seen.state}", seconds)


def _unmoved(seen: MirrorJobRun) -> bool:
    return not any(job.state == "running" for job in seen.ci.jobs)


def _where(run: Run, seen: MirrorJobRun) -> str:
    return f"{short(seen.commit)} on {run.tools.target} (CI run #{seen.ci.run_id})"


def _missing(run: Run, seen: MirrorJobRun, config: CiConfig) -> NeedsPerson:
    return ask(
        f"There is no job {config.mirror_job} in CI of {_where(run, seen)}; [ci] mirror_job in damascus.toml names it. "
        f"{run.item.story_id} is on {run.tools.target}, but not mirrored. Correct the name or the workflow."
    )


def _failed(run: Run, seen: MirrorJobRun) -> NeedsPerson:
    assert seen.job is not None
    why = classify(seen.job, run.tools.forge.ci_log(seen.ci, seen.job)).diagnosis
    return ask(
        f"The job {seen.job.name} of {_where(run, seen)} ended as {seen.state}: {why}. {run.item.story_id} is on "
        f"{run.tools.target}, but not mirrored. Mend it and run the job again on the forge."
    )


def _skipped(run: Run, merged: Sha, seen: MirrorJobRun, config: CiConfig) -> Outcome:
    """Because of a job before it: that one is the trouble. Else it had no push event: one empty commit gives it one."""
    red = [job for job in seen.ci.jobs if job.state in ("failure", "cancelled")]
    if red:
        return _main_is_red(run, seen, red)
    if not _over(run, seen, config.no_run_seconds):
        return _wait(seen, config)
    if run.result(MIRROR_RETRIGGER, merged) is None:
        return _wait_for(run, _retrigger(run, merged), config)
    return ask(
        f"The job {config.mirror_job} of {_where(run, seen)} was skipped again, after an empty commit was pushed. "
        f"{run.item.story_id} is on {run.tools.target}, but not mirrored. Look at the job's conditions."
    )


def _main_is_red(run: Run, seen: MirrorJobRun, red: list[CiJob]) -> NeedsPerson:
    why = "; ".join(f"{job.name}: {classify(job, run.tools.forge.ci_log(seen.ci, job)).diagnosis}" for job in red)
    return ask(
        f"{run.tools.target} is red at {_where(run, seen)} ({why}), so its mirror job was skipped. {run.item.story_id} "
        f"is on {run.tools.target}, but not mirrored. Mend {run.tools.target}."
    )


# ── once more ─────────────────────────────────────────────────────────────────────────────────────────


def _wait_for(run: Run, done: Retriggered, config: CiConfig) -> Wait:
    look = timedelta(seconds=config.look_seconds)
    return Wait(
        WaitKind.MIRROR, done.commit, look, f"the job {config.mirror_job}, after an empty commit on {run.tools.target}"
    )


def _retrigger(run: Run, merged: Sha) -> Retriggered:
    return run.effect(
        MIRROR_RETRIGGER,
        lambda _: _push_event(run, merged),
        key=merged,
        intent=lambda: {"merged": merged},
    )


def _push_event(run: Run, merged: Sha) -> Retriggered:
    """Find the empty commit that an earlier try pushed, or push one; whatever else moved main is a push as well."""
    forge, mirror = run.tools.forge, run.tools.mirror
    tip = forge.main_tip()
    earlier = _found(run, merged, tip)
    if earlier is not None:
        return Retriggered(commit=earlier)
    subject = f"ci: mirror {short(merged)}"
    empty = mirror.commit_tree(mirror.tree(tip), [tip], f"{subject}\n\n{TRAILER}{merged}\n")
    run.assert_held()
    try:
        forge.land(tip, empty)
    except Stale:
        return Retriggered(commit=forge.main_tip())
    return Retriggered(commit=empty)


def _found(run: Run, merged: Sha, tip: Sha) -> Sha | None:
    commit = tip
    for _ in range(LOOK_BACK):
        if commit == merged:
            return None
        found = run.tools.mirror.objects.commit(commit)
        if f"{TRAILER}{merged}" in found.message.splitlines():
            return commit
        if not found.parents:
            return None
        commit = found.parents[0]
    return None


# ── a success ─────────────────────────────────────────────────────────────────────────────────────────


def _mirrored_events(run: Run, merged: Sha, done: Mirrored) -> tuple[Event, ...]:
    """DONE once more, now with the mirror's state (W4); a worker that resumed after a question has no milestone."""
    body: dict[str, object] = {"state": done.state, "commit": done.commit, "run": done.run_id}
    told: Event = (EventKind.CI_MIRRORED, body)
    proof = run.latest(CI)
    if run.milestone != Milestone.DONE or proof is None:
        return (told,)
    wanted = wanted_jobs(run, run.item.base_commit or merged)
    line = milestones.done_line(run.tools.project.repo, proof, wanted, done.state)
    return (told, *run.reach(Milestone.DONE, line))
