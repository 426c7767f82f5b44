"""Rebase: the candidate on top of main, or on top of those ahead in the merge queue; or a conflict."""

from pydantic import BaseModel, Field

from damascus.domain.events import Event
from damascus.domain.feedback import Conflict, VerdictFeedback
from damascus.domain.ids import Sha, short
from damascus.domain.outcome import Rejected
from damascus.domain.storable import clean
from damascus.domain.verdict import Milestone, Phase, Verdict
from damascus.engine.flow.carried import carry
from damascus.engine.flow.commit import COMMIT
from damascus.engine.run import Run
from damascus.engine.step import Step, StepKind
from damascus.engine.steps.implement import Made
from damascus.git.mirror import Conflicted


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


TIP = Step("tip", Phase.BUILD, StepKind.LOCAL, Tip, "main as the forge has it")
REBASE = Step(
    "rebase", Phase.BUILD, StepKind.LOCAL, Rebase,
    "the candidate on top of main and those ahead in the queue, or a conflict",
    also=(Phase.MERGE,),
)  # fmt: skip


def main_tip(run: Run) -> Sha:
    """The same through the whole run."""
    return Sha(run.local(TIP, lambda: Tip(commit=run.tools.forge.main_tip())).commit)


def rebase(run: Run, made: Made, onto: Sha) -> Sha | Rejected:
    """The commit on top of `onto`, or the conflict."""
    assert made.commit is not None
    commit = Sha(made.commit)
    done = run.local(REBASE, lambda: _rebase(run, commit, onto), onto, lambda: _starts_over(run, onto))
    return _conflict(done, made) if done.commit is None else Sha(done.commit)


def _rebase(run: Run, commit: Sha, onto: Sha) -> Rebase:
    done = run.tools.mirror.rebase(commit, onto)
    if isinstance(done, Conflicted):
        return Rebase(
            onto=onto, conflicting_files=list(done.files), details=clean(done.details, 8000), conflict_tree=done.tree
        )
    if done.commit != commit and run.result(COMMIT) is not None:
        carry(run, done.commit, onto)
    return Rebase(commit=done.commit, tree=done.tree, onto=onto)


def _starts_over(run: Run, onto: Sha) -> tuple[Event, ...]:
    """A candidate that was green already is built anew, because others landed first."""
    return run.start_over(f"built anew on {short(onto)}") if run.milestone == Milestone.DONE else ()


def _conflict(rebase: Rebase, made: Made) -> Rejected:
    conflict = Conflict(conflicting_files=rebase.conflicting_files, their_sha=rebase.onto, details=rebase.details)
    named = ", ".join(rebase.conflicting_files)
    message = f"the work conflicts with main at {short(rebase.onto)} in {named}"
    feedback = VerdictFeedback(message=message, files_changed=made.files_changed, conflict=conflict)
    return Rejected(Verdict.REBASE_CONFLICT, feedback)
