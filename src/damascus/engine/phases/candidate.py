"""The second half of a build: the candidate on top of main, judged there, pushed, proposed, green in CI.

Used by build, and by the queue again on top of those ahead.
"""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from uuid import UUID

from pydantic import BaseModel, Field

from damascus.domain.errors import DamascusError, TransientError
from damascus.domain.feedback import Conflict, VerdictFeedback
from damascus.domain.ids import Sha, short
from damascus.domain.outcome import NeedsPerson, Outcome, Rejected
from damascus.domain.policy import Event
from damascus.domain.ports import Candidate, GateResult, Push, Stale
from damascus.domain.spec import Spec, digest
from damascus.domain.storable import clean
from damascus.domain.verdict import Milestone, Phase, Verdict
from damascus.engine import judging, milestones
from damascus.engine.decided import decided
from damascus.engine.judging import Judged
from damascus.engine.phases.ci import await_ci, wanted_jobs
from damascus.engine.phases.ci_flaky import tell_unsteady
from damascus.engine.phases.implement import Made
from damascus.engine.phases.red import candidate_of
from damascus.engine.run import Run
from damascus.engine.tools import Tools
from damascus.engine.upstreams import pause
from damascus.git.mirror import Conflicted
from damascus.store.evidence import latest
from damascus.store.journal import older_push_intent

PUSH_TRIES = 3


class Tip(BaseModel):
    """Main as the forge had it."""

    commit: str


class Rebase(BaseModel):
    """The candidate on top of main, or why that failed."""

    commit: str | None = None
    tree: str | None = None
    onto: str
    conflicting_files: list[str] = Field(default_factory=list)
    details: str = ""
    conflict_tree: str | None = None


class Pushed(BaseModel):
    """The forge has the branch. `refused` names a branch that is not ours."""

    commit: str
    refused: str = ""


class Proposed(BaseModel):
    """The forge has the pull request."""

    number: int
    url: str
    found: bool = False


@dataclass(frozen=True)
class Fresh:
    """A candidate that is judged, pushed, proposed and green on top of `onto`."""

    commit: Sha
    onto: Sha
    pr_url: str

    def facts(self) -> dict[str, object]:
        return {"base_commit": self.onto, "candidate": self.commit, "pr_url": self.pr_url}


def main_tip(run: Run) -> Sha:
    return Sha(run.local("tip", Tip, lambda: Tip(commit=run.tools.forge.main_tip())).commit)


def bring_up_to_date(run: Run, spec: Spec, made: Made, onto: Sha) -> Fresh | Outcome:
    """rebase → verify → push → propose → ci."""
    rebase = rebased(run, made, onto)
    return conflict(rebase, made) if rebase.commit is None else prove(run, spec, made, rebase)


def prove(run: Run, spec: Spec, made: Made, rebase: Rebase) -> Fresh | Outcome:
    """verify → push → propose → ci. Only a commit that passed here is ever pushed (D8)."""
    assert rebase.commit is not None
    judged = run.local("verify", Judged, lambda: _verify(run, spec, made, rebase), key=rebase.commit)
    tell_unsteady(run, judged)
    if (refused := decided(run, judged, made.files_changed)) is not None:
        return refused

    commit, onto = Sha(rebase.commit), Sha(rebase.onto)
    if (foreign := publish(run, commit)) is not None:
        return foreign
    url = str(run.item.pr_url) if staged(run) else _propose(run, spec, commit).url

    green = await_ci(run, spec, made, commit, onto, push=lambda again: publish(run, again))
    if isinstance(green, Outcome):
        return green
    return Fresh(Sha(green.sha), onto, url)


def publish(run: Run, commit: Sha) -> Outcome | None:
    """The commit on the branch where CI tests it; None once it is there."""
    step, branch = ("stage", queue_branch(run.tools, run.item.uuid)) if staged(run) else ("push", run.item.branch)
    if run.result(step, Pushed, commit) is None and (waits := pause(run.tools)) is not None:
        return waits
    pushed = _push(run, commit, step, branch)
    return _foreign_branch(branch, pushed.refused) if pushed.refused else None


def staged(run: Run) -> bool:
    """Where CI runs elsewhere the queue tests on a branch of its own: the pull request stays as it was reviewed."""
    return run.item.phase == Phase.MERGE and not run.tools.forge.runs_ci


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


# ── rebase and verify ─────────────────────────────────────────────────────────────────────────────────


def rebased(run: Run, made: Made, onto: Sha, events: Callable[[], tuple[Event, ...]] = tuple) -> Rebase:
    assert made.commit is not None
    return run.local("rebase", Rebase, lambda: _rebase(run, Sha(str(made.commit)), onto), onto, events)


def _rebase(run: Run, commit: Sha, onto: Sha) -> Rebase:
    done = run.tools.mirror.rebase(commit, onto)
    if isinstance(done, Conflicted):
        return Rebase(
            onto=onto, conflicting_files=list(done.files), details=clean(done.details, 8000), conflict_tree=done.tree
        )
    return Rebase(commit=done.commit, tree=done.tree, onto=onto)


def conflict(rebase: Rebase, made: Made) -> Rejected:
    conflict = Conflict(conflicting_files=rebase.conflicting_files, their_sha=rebase.onto, details=rebase.details)
    named = ", ".join(rebase.conflicting_files)
    message = f"the work conflicts with main at {short(rebase.onto)} in {named}"
    feedback = VerdictFeedback(message=message, files_changed=made.files_changed, conflict=conflict)
    return Rejected(Verdict.REBASE_CONFLICT, feedback)


def _verify(run: Run, spec: Spec, made: Made, rebase: Rebase) -> Judged:
    """Every gate on the rebased commit; those before the rebase again if it moved. The red run stands."""
    assert rebase.commit is not None and rebase.tree is not None
    red = run.result("red", Judged) or _red_of_earlier_run(run)
    shas = (Sha(rebase.commit), Sha(rebase.tree), Sha(rebase.onto))
    candidate = candidate_of(run, spec, shas, red)
    moved = rebase.commit != made.commit
    again = tuple(gate for gate in run.tools.gates_before if gate.name != "red") if moved else ()
    change = _change(run, candidate)
    known = _seen_of(run, change)
    judged = judging.judge(run, (*again, *run.tools.gates_after), candidate, () if known else run.tools.gates_beside)
    return judged.model_copy(update={"change": change, "results": [*judged.results, *known]})


def _change(run: Run, candidate: Candidate) -> str:
    """What the story changes, wherever it sits: the same paths with the same content."""
    files = run.tools.mirror.listing(candidate.commit).files
    told = sorted(f"{file.path} {file.mode} {files[file.path].sha if file.path in files else ''}"
                  for file in candidate.changed)  # fmt: skip
    return digest("\n".join([candidate.spec.test_command, *told]).encode(errors="surrogateescape"))


def _seen_of(run: Run, change: str) -> list[GateResult]:
    """What canary and mutants showed of the same change on top of other stories holds: they try its own tests and its
    own functions, while the tests themselves are run on each commit."""
    names = [gate.name for gate in run.tools.gates_beside]
    if not names:
        return []
    outputs = [*run.outputs("verify"), latest(run.tools.db, run.item.id, "verify")]
    earlier = [Judged.model_validate(output) for output in outputs if output and output.get("change") == change]
    for judged in earlier:
        found = [result for name in names if (result := judged.of(name)) is not None]
        if len(found) == len(names) and not judged.findings:
            return found
    return []


def _red_of_earlier_run(run: Run) -> Judged | None:
    found = latest(run.tools.db, run.item.id, "red")
    return Judged.model_validate(found) if found else None


# ── push and propose ──────────────────────────────────────────────────────────────────────────────────


def fence_ref(item: UUID) -> str:
    return f"refs/damascus/fence/{item}"


def _push(run: Run, commit: Sha, step: str, branch: str) -> Pushed:
    return run.effect(
        step,
        Pushed,
        lambda _: push_fenced(run, commit, branch),
        key=commit,
        intent=lambda: {"commit": commit, "branch": branch},
        events=lambda done: _pushed_events(run, done, branch),
    )


def _pushed_events(run: Run, done: Pushed, branch: str) -> tuple[Event, ...]:
    if done.refused:
        return ()
    line = milestones.pushed_line(run.tools.project.repo, done.commit, run.tools.forge.run_id(Sha(done.commit)))
    body: dict[str, object] = {"commit": done.commit, "branch": branch}
    jobs = len(wanted_jobs(run, run.tools.mirror.parent(Sha(done.commit))).required)
    return (("build.pushed", body), *run.reach(Milestone.PUSHED_TO_CI, line, jobs_passed=0, total_jobs=jobs))


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


def _ours(run: Run, commit: Sha) -> bool:
    """A branch that we didn't make is never overwritten: our commits name the item."""
    return f"Damascus-Item: {run.item.uuid}" in run.tools.mirror.message(commit)


def _foreign_branch(branch: str, commit: str) -> NeedsPerson:
    question = (
        f"the branch {branch} exists on the forge at {short(commit)} and Damascus did not make it. "
        "Rename or delete it, then retry."
    )
    return NeedsPerson(None, question, ("retry", "cancel the story"), VerdictFeedback(message=question))


def _propose(run: Run, spec: Spec, commit: Sha) -> Proposed:
    return run.effect(
        "propose",
        Proposed,
        lambda _: _open_pull(run, spec, commit),
        key=commit,
        intent=lambda: {"branch": run.item.branch},
        events=lambda done: (("build.pr_opened", {"number": done.number, "url": done.url, "found": done.found}),),
        facts=lambda done: {"pr_url": done.url, "candidate": commit},
    )


def _open_pull(run: Run, spec: Spec, commit: Sha) -> Proposed:
    forge, item = run.tools.forge, run.item
    known = forge.find_pull(item.branch)
    if known is not None and known.state == "open" and known.head_sha == commit:
        return Proposed(number=known.number, url=known.url, found=True)
    pull = forge.open_pull(item.branch, f"{item.story_id}: {item.title}", pull_body(run, spec), commit)
    return Proposed(number=pull.number, url=pull.url, found=known is not None and known.number == pull.number)


def pull_body(run: Run, spec: Spec) -> str:
    """The spec's link; its text where the spec is not in the repository (D9)."""
    path = run.item.spec_path
    inside = not path.startswith("/") and run.tools.mirror.read(run.tools.forge.main_tip(), path) is not None
    text = f"Spec: {path}" if inside else f"Spec:\n\n{spec.body.strip()}"
    return f"{text}\n\nDamascus-Item: {run.item.uuid}\n"
