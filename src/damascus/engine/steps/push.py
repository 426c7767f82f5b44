"""Push: the candidate's branch and the item's fence ref move together on the forge, or not at all.

The same for the story's own branch (`push`) and, where CI runs elsewhere, for the queue's (`stage`): there the pull
request stays as it was reviewed.
"""

from contextlib import suppress
from uuid import UUID

from pydantic import BaseModel

from damascus.domain.errors import DamascusError, TransientError
from damascus.domain.events import Event, EventKind
from damascus.domain.feedback import VerdictFeedback
from damascus.domain.ids import Sha, short
from damascus.domain.outcome import NeedsPerson, Outcome
from damascus.domain.ports import Push, Stale
from damascus.domain.verdict import Milestone, Phase
from damascus.engine import milestones
from damascus.engine.ci.waiting import wanted_jobs
from damascus.engine.run import Run
from damascus.engine.step import Step, StepKind
from damascus.engine.tools import Tools
from damascus.engine.upstreams import pause
from damascus.store.journal import older_push_intent

PUSH_TRIES = 3


class Pushed(BaseModel):
    """The forge has the branch. `refused` names a branch that is not ours."""

    commit: str
    refused: str = ""


PUSH = Step(
    "push", Phase.BUILD, StepKind.EFFECT, Pushed, "branch and fence ref move together on the forge", also=(Phase.MERGE,)
)
STAGE = Step(
    "stage", Phase.MERGE, StepKind.EFFECT, Pushed, "the candidate on top of those ahead, on a branch of the queue"
)


def push(run: Run, commit: Sha) -> Outcome | None:
    """The commit on the story's branch; None once it is there."""
    return _publish(run, PUSH, run.item.branch, commit)


def stage(run: Run, commit: Sha) -> Outcome | None:
    """The commit on the queue's branch for the story; None once it is there."""
    return _publish(run, STAGE, queue_branch(run.tools, run.item.uuid), commit)


def _publish(run: Run, step: Step[Pushed], branch: str, commit: Sha) -> Outcome | None:
    if run.result(step, commit) is None and (waits := pause(run.tools)) is not None:
        return waits
    pushed = run.effect(
        step,
        lambda _: push_fenced(run, commit, branch),
        key=commit,
        intent=lambda: {"commit": commit, "branch": branch},
        events=lambda done: _pushed_events(run, done, branch),
    )
    return _foreign_branch(branch, pushed.refused) if pushed.refused else None


def _pushed_events(run: Run, done: Pushed, branch: str) -> tuple[Event, ...]:
    if done.refused:
        return ()
    line = milestones.pushed_line(run.tools.project.repo, done.commit, run.tools.forge.run_id(Sha(done.commit)))
    body: dict[str, object] = {"commit": done.commit, "branch": branch}
    # Those ahead left the queue after it was green, or a person sent it on: what was built before is pushed anew.
    over = milestones.is_over(run.milestone)
    again = run.start_over(f"pushed anew as {short(done.commit)}") if over else ()
    jobs = len(wanted_jobs(run, run.tools.mirror.parent(Sha(done.commit))).required)
    reached = run.reach(Milestone.PUSHED_TO_CI, line, jobs_passed=0, total_jobs=jobs)
    return ((EventKind.BUILD_PUSHED, body), *again, *reached)


def push_fenced(run: Run, commit: Sha, branch: str) -> Pushed:
    """Find the branch as it should be, or move it from what we last knew together with the fence ref."""
    forge, ref = run.tools.forge, fence_ref(run.item.uuid)
    for _ in range(PUSH_TRIES):
        try:
            remote = forge.remote_refs(branch, ref)
            if remote.branch == commit:
                return Pushed(commit=commit)
            if remote.branch is not None and not _ours(run, remote.branch):
                return Pushed(commit=commit, refused=remote.branch)
            run.assert_held()  # who lost the item before this look must not push with its heir's fence
            forge.push(Push(branch, commit, ref, remote.branch, remote.fence))
            return Pushed(commit=commit)
        except Stale:
            run.assert_held()
            plant_fence(run)
    raise TransientError(f"{branch} keeps moving on the forge")


def _foreign_branch(branch: str, commit: str) -> NeedsPerson:
    question = (
        f"the branch {branch} exists on the forge at {short(commit)} and Damascus did not make it. "
        "Rename or delete it, then retry."
    )
    return NeedsPerson(None, question, ("retry", "cancel the story"), VerdictFeedback(message=question))


# ── the fence ─────────────────────────────────────────────────────────────────────────────────────────


def fence_ref(item: UUID) -> str:
    return f"refs/damascus/fence/{item}"


def shut_out_older_push(run: Run) -> None:
    """Before a claim does anything: a worker that lost the item may still be inside its push. Our fence is planted
    first, the branch read later; else the zombie wins and the heir loses. A first claim pays nothing."""
    if run.just_claimed and run.item.fence > 1 and older_push_intent(run.tools.db, run.item):
        plant_fence(run)


def plant_fence(run: Run) -> None:
    forge, ref = run.tools.forge, fence_ref(run.item.uuid)
    for _ in range(PUSH_TRIES):
        try:
            forge.plant_fence(ref, forge.remote_refs(run.item.branch, ref).fence, run.item.fence)
            return
        except Stale:
            run.assert_held()
    raise TransientError(f"the fence of {run.item.branch} keeps moving on the forge")


# ── branches ──────────────────────────────────────────────────────────────────────────────────────────


def queue_branch(tools: Tools, item: UUID) -> str:
    return f"mq/{tools.target}/{item}"


def drop_queue_branch(tools: Tools, item: UUID) -> None:
    """It was for CI alone, and its story is on main or cancelled."""
    branch = queue_branch(tools, item)
    left = tools.forge.remote_refs(branch, fence_ref(item)).branch
    if left is not None:
        with suppress(Stale):  # somebody else has removed it
            tools.forge.move(branch, None, left)


def drop_story_branch(run: Run) -> None:
    """Its story is on main. One that somebody has moved on is theirs, and a rule that keeps it keeps it."""
    branch, forge = run.item.branch, run.tools.forge
    left = forge.remote_refs(branch, fence_ref(run.item.uuid)).branch
    if left is not None and _ours(run, left):
        with suppress(Stale, DamascusError):
            forge.move(branch, None, left)


def _ours(run: Run, commit: Sha) -> bool:
    """A branch that we didn't make is never overwritten: our commits name the item."""
    return f"Damascus-Item: {run.item.uuid}" in run.tools.mirror.message(commit)
