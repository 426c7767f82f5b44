"""Tell: the proof as it stands, on the pull request: one comment, edited in place, and a status on the commit (X16).

It is written when the pull is opened and when main has it, within those steps: there a story that goes through cleanly
pays for no step more. In between it is told in a step of its own: when CI elsewhere is green, when the story is sent
back, when a person is asked. No story waits for a comment: what the forge refuses is on record, and what it could not
take at the moment is told with the next news.
"""

from dataclasses import replace

from pydantic import BaseModel, Field

from damascus.domain import pull_comment
from damascus.domain.errors import TransientError
from damascus.domain.events import EventKind
from damascus.domain.ids import Sha
from damascus.domain.money import in_dollars, in_tokens
from damascus.domain.outcome import NeedsPerson, Outcome, Rejected
from damascus.domain.ports import CiRun, Pull, PullProof, PullState
from damascus.domain.pull_comment import PullStanding
from damascus.domain.receipt import BuildReceipt
from damascus.domain.spec import digest
from damascus.domain.verdict import Phase
from damascus.engine.agent_step.sending import passed_on
from damascus.engine.run import Run
from damascus.engine.step import Outputs, Step, StepKind
from damascus.engine.steps.receipt import receipt_of
from damascus.engine.steps.report import REPORT
from damascus.engine.steps.reviewers import REVIEW_CODE, REVIEW_SECURITY, words_of
from damascus.engine.steps.sast import SAST
from damascus.system.masking import own_keys, without_secrets


class ToldProof(BaseModel):
    """What the pull request says now; `untold` is what the forge did not take, a sentence each."""

    state: str
    untold: list[str] = Field(default_factory=list)


TELL = Step(
    "tell", Phase.BUILD, StepKind.EFFECT, ToldProof,
    "the pull request's comment and status tell of green CI elsewhere, of a story sent back, of a question",
    also=(Phase.REVIEW, Phase.MERGE),
)  # fmt: skip


# ── within the steps that open and land ───────────────────────────────────────────────────────────────


def tell_opened(run: Run, pull: Pull, commit: Sha) -> list[str]:
    """What the forge did not take."""
    return _untold(run, pull, _proof(run, receipt_of(run, commit), _standing(run, commit)))


def tell_landed(run: Run, pull: Pull, commit: Sha, receipt: BuildReceipt | None) -> list[str]:
    return _untold(run, pull, _proof(run, receipt, replace(_with_facts(run, commit), landed=commit)))


# ── in a step of its own ──────────────────────────────────────────────────────────────────────────────


def tell_green(run: Run, ci: CiRun) -> None:
    """Where CI runs here it is told with the landing."""
    if not run.tools.forge.runs_ci and (pull := _pull(run)) is not None:
        _tell(run, pull, replace(_standing(run, Sha(ci.sha)), ci=ci))


def tell_outcome(run: Run, outcome: Outcome) -> None:
    """What becomes of a story whose pull is open. Its head may be whatever somebody laid there: then what was
    judged is told of."""
    if not isinstance(outcome, Rejected | NeedsPerson):
        return
    pull = _pull(run)
    if pull is None or pull.state != PullState.OPEN:
        return
    judged = Sha(pull.head_sha) if run.tools.mirror.is_candidate(Sha(pull.head_sha)) else run.item.candidate
    if judged is None:
        return
    at = _with_facts(run, judged)
    if isinstance(outcome, Rejected):
        _tell(run, pull, replace(at, sent_back=outcome.verdict))
    else:
        approval = outcome.event is EventKind.BLOCKED_APPROVAL
        _tell(run, pull, replace(at, asks="approval" if approval else "a question in the inbox"))


def _tell(run: Run, pull: Pull, at: PullStanding) -> None:
    proof = _proof(run, receipt_of(run, at.commit), at)
    key = f"{at.commit}:{digest(f'{proof.state} {proof.text}'.encode())[:12]}"
    run.effect(TELL, lambda _: ToldProof(state=proof.state, untold=_untold(run, pull, proof)), key=key)


def _pull(run: Run) -> Pull | None:
    try:
        return run.tools.forge.find_pull(run.item.branch)
    except TransientError:
        return None


# ── what is told ──────────────────────────────────────────────────────────────────────────────────────


def _untold(run: Run, pull: Pull, proof: PullProof) -> list[str]:
    """Nothing where the story is another's by now, who has newer things to tell."""
    run.assert_held()
    try:
        untold = run.tools.forge.tell(pull, proof)
    except TransientError as err:
        untold = [str(err)]
    if untold:
        run.tools.log.info("pull untold", story=run.item.story_id, run=run.item.run_no, step=run.now, why=untold[0])
    return untold


def _proof(run: Run, receipt: BuildReceipt | None, at: PullStanding) -> PullProof:
    env = passed_on(run.tools.read_config(run.tools.mirror.parent(at.commit)).workspace.env)
    return PullProof(
        key=f"proof-{run.item.uuid}",
        text=without_secrets(pull_comment.comment(receipt, at), [*own_keys(), *env.values()]),
        commit=at.commit,
        state=pull_comment.proof_state(receipt, at),
        line=pull_comment.status_line(receipt, at),
        landed=at.landed,
    )


def _standing(run: Run, commit: Sha) -> PullStanding:
    item, mirror = run.item, run.tools.mirror
    return PullStanding(
        story=item.story_id,
        title=item.title,
        commit=commit,
        tree=mirror.tree(commit),
        target=run.tools.target,
        tries=item.attempts + 1,
        files=len(mirror.changed(mirror.parent(commit), commit)),
    )


def _with_facts(run: Run, commit: Sha) -> PullStanding:
    """With CI of that commit, what reviewers and reporter said of it, and what the story's agents cost."""
    steps = [step.name for step in (REVIEW_CODE, SAST, REVIEW_SECURITY, REPORT)]
    found = run.tools.db.one("pull_facts", item=run.item.id, commit=commit, steps=steps)
    assert found is not None
    ci = CiRun.model_validate(found["ci"]) if found["ci"] else None
    dollars = "" if found["unpriced"] else f" ({in_dollars(found['microdollars'])})"
    cost = f"{in_tokens(found['tokens'])}{dollars}" if found["tokens"] else ""
    said = Outputs(found["said"] or {})
    report = reported.text if (reported := said.of(REPORT)) else ""
    reviews = tuple((str(step.role), word) for step, _, word in words_of(said))
    return replace(_standing(run, commit), ci=ci, cost=cost, reviews=reviews, report=report)
