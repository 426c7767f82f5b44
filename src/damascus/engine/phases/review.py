"""Review: from the row alone, look at the pull request as the forge has it, and judge its head again (D18).

look → review → a person's approval, where the project asks for it → merge

No agent is asked yet.
"""

from damascus.domain.feedback import VerdictFeedback
from damascus.domain.ids import Sha
from damascus.domain.outcome import Advance, Outcome, Rejected
from damascus.domain.verdict import Phase, Verdict
from damascus.engine.judging import objection
from damascus.engine.run import Run
from damascus.engine.steps.approval import missing_approval
from damascus.engine.steps.look import LOOK, look
from damascus.engine.steps.review import REVIEW, judge_again

STEPS = (LOOK, REVIEW)


def review(run: Run) -> Outcome:
    seen = look(run)
    if seen.problem or seen.head is None:
        return Rejected(Verdict.NO_PR, VerdictFeedback(message=seen.problem, gate="review", files_changed=seen.files))
    head, base = Sha(seen.head), run.item.base_commit
    assert base is not None
    judged = judge_again(run, head)
    return objection(run, judged, seen.files) or missing_approval(run, base, head) or Advance(Phase.MERGE)
