"""A critic's report, as it is read: what it says, or that there is no review.

A report that can't be read, that gives no reason, or that never came is no review: BLOCKED, and a person is asked for
what is missing. Nobody is charged for that.
"""

from typing import Self

from pydantic import Field, ValidationError

from damascus.domain.critique import Critique
from damascus.domain.feedback import VerdictFeedback
from damascus.domain.outcome import NeedsPerson
from damascus.domain.ports import Report
from damascus.domain.recovery import CANCEL, EDIT_SPEC, RETRY
from damascus.domain.storable import clean
from damascus.engine.agent_step.results import AgentResult, reason
from damascus.engine.run import Run


class Reviewed(AgentResult):
    """A critic's whole report."""

    critique: Critique = Field(default_factory=Critique)

    def answered(self, report: Report | None, text: str | None) -> Self:
        if report is None or report.unreadable:
            return self.unread(report)
        try:
            return self.told_by(report)
        except ValidationError as err:
            first = err.errors()[0]
            where = ".".join(str(part) for part in first["loc"])
            return self.unusable_for(clean(f"its report can't be used: {where}: {first['msg']}", 500))

    def told_by(self, report: Report) -> Self:
        told = Critique.model_validate({"summary": report.summary, **report.claims, **report.whole})
        return self.model_copy(update={"critique": told})

    @property
    def word(self) -> Critique:
        """What counts: BLOCKED wherever there is no review."""
        if not self.succeeded:
            how = reason(self.ending) if self.ending.ended or self.timed_out else f"it exited {self.exit_code}"
            return Critique.none_because(f"a review: {how}")
        why = self.unusable or self.critique.unreadable
        return Critique.none_because(f"a readable report: {why}") if why else self.critique


def could_not_review(run: Run, role: str, word: Critique) -> NeedsPerson:
    missing = "; ".join(word.missing)
    told = clean(f"The {role} could not review {run.item.story_id}. Missing: {missing}", 4000)
    kept = run.item.last_feedback or VerdictFeedback()
    feedback = kept.model_copy(update={"message": told})
    return NeedsPerson(None, f"{told}. What should happen?", (RETRY, EDIT_SPEC, CANCEL), feedback)
