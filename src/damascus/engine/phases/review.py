"""Review: from the row alone, look at the pull request as the forge has it, and judge its head again (D18).

look → review → review_code → sast → review_security → receipt, with their words → report → a person's approval → merge

Agents are asked in profile `full`, and where `[review] critic` wants it; the reporter in `full` alone. A person is
asked where `[review] approval` wants it.
"""

from damascus.domain.feedback import VerdictFeedback
from damascus.domain.ids import Sha
from damascus.domain.outcome import Advance, Outcome, Rejected, Wait
from damascus.domain.spec import parse_spec
from damascus.domain.verdict import Kind, Phase, Verdict
from damascus.engine.judging import Judged, in_full, objection
from damascus.engine.run import Run
from damascus.engine.steps.approval import missing_approval
from damascus.engine.steps.look import LOOK, look
from damascus.engine.steps.receipt import missing_proof, receipt_of, write_reviewed
from damascus.engine.steps.report import REPORT, report
from damascus.engine.steps.review import REVIEW, judge_again
from damascus.engine.steps.reviewers import REVIEW_CODE, REVIEW_SECURITY, PulledChange, refused_by_reviewers
from damascus.engine.steps.sast import SAST

STEPS = (LOOK, REVIEW)
BY_OTHERS = (REVIEW_CODE, SAST, REVIEW_SECURITY, REPORT)


def review(run: Run) -> Outcome:
    seen = look(run)
    if seen.problem or seen.head is None:
        return Rejected(Verdict.NO_PR, VerdictFeedback(message=seen.problem, gate="review", files_changed=seen.files))
    head, base = Sha(seen.head), run.item.base_commit
    assert base is not None
    judged = judge_again(run, head)
    return (
        objection(run, judged, seen.files)
        or _read_by_others(run, judged, base, seen.files)
        or missing_approval(run, base, head)
        or Advance(Phase.MERGE)
    )


def _read_by_others(run: Run, judged: Judged, base: Sha, files: list[str]) -> Outcome | None:
    spec = parse_spec(run.item.spec, run.item.spec_path)
    config = run.tools.read_config(base)
    full = in_full(spec, config)
    if spec.kind is Kind.RECORDS or (not full and not config.review.critic):
        return None
    change = PulledChange(run, spec, base, judged, files, receipt_of(run, Sha(judged.commit)))
    refused = refused_by_reviewers(change)
    if isinstance(refused, Wait):  # they have not spoken yet
        return refused
    receipt = write_reviewed(run, spec, change.head)
    if refused is not None:
        return refused
    asked = missing_proof(run, receipt, base, change.head) if receipt else None
    return asked or (report(change) if full else None)
