"""Those who judge: test-critic, code-critic, self-reviewer. None writes a file; where mounts can do it, none can.

A critic's answer is its report. One that can't be read, that gives no reason, or that never came is no review: BLOCKED,
and a person is asked for what is missing. Nobody is charged for that.
"""

from pydantic import Field, ValidationError

from damascus.domain.critique import Critique, ReviewStatus
from damascus.domain.feedback import VerdictFeedback
from damascus.domain.handoff import HandoffSection, Priority
from damascus.domain.outcome import NeedsPerson
from damascus.domain.ports import Report
from damascus.domain.recovery import CANCEL, EDIT_SPEC, RETRY
from damascus.domain.roles import Role
from damascus.domain.storable import clean
from damascus.domain.verdict import Phase
from damascus.engine.agent_step.results import AgentResult, reason
from damascus.engine.flow.inputs import ONCE, WHOLE, Subtask
from damascus.engine.flow.opening import goes_on
from damascus.engine.flow.papers import leave, left_out, review, say, summary
from damascus.engine.flow.work import Ended, Work
from damascus.engine.step import Step, StepKind


class Reviewed(AgentResult):
    """A critic's whole report."""

    critique: Critique = Field(default_factory=Critique)

    def answered(self, report: Report | None, text: str | None) -> "Reviewed":
        if report is None:
            return self.unusable_for("it left no report")
        try:
            told = Critique.model_validate({"summary": report.summary, **report.claims, **report.whole})
        except ValidationError as err:
            first = err.errors()[0]
            where = ".".join(str(part) for part in first["loc"])
            return self.unusable_for(clean(f"its report can't be used: {where}: {first['msg']}", 500))
        return self.model_copy(update={"critique": told})

    @property
    def word(self) -> Critique:
        """What counts: BLOCKED wherever there is no review."""
        if not self.succeeded:
            how = reason(self.ending) if self.ending.ended or self.timed_out else f"it exited {self.exit_code}"
            return Critique.none_because(f"a review: {how}")
        why = self.unusable or self.critique.unreadable
        return Critique.none_because(f"a readable report: {why}") if why else self.critique


CRITIQUE_TESTS = Step(
    "critique_tests", Phase.BUILD, StepKind.AGENT, Reviewed, "the test-critic judges the tests", role=Role.TEST_CRITIC
)
CRITIQUE_CODE = Step(
    "critique_code", Phase.BUILD, StepKind.AGENT, Reviewed, "the code-critic judges the code", role=Role.CODE_CRITIC
)
SELF_REVIEW = Step(
    "self_review", Phase.BUILD, StepKind.AGENT, Reviewed, "the self-reviewer reads the whole change",
    role=Role.SELF_REVIEWER,
)  # fmt: skip


def critique_tests(work: Work, subtask: Subtask, turn: int) -> Critique | None:
    return _reviewed(work, CRITIQUE_TESTS, subtask, f"{subtask.number}.{turn}")


def critique_code(work: Work, subtask: Subtask, turn: int) -> Critique | None:
    return _reviewed(work, CRITIQUE_CODE, subtask, f"{subtask.number}.{turn}")


def self_review(work: Work) -> None:
    """What it finds stands on record: it changes nothing, and nothing that others found is raised by it."""
    _reviewed(work, SELF_REVIEW, WHOLE, ONCE)


def _reviewed(work: Work, step: Step[Reviewed], subtask: Subtask, key: str) -> Critique | None:
    """None: there is no critic."""
    if work.skips(step):
        left_out(work, step)
        return None
    done = work.send(
        step,
        key,
        subtask=subtask,
        more=(*_said(work), *work.previous_receipt()),
        failed=goes_on,
        leaves=lambda reviewed: leave(work, step, review(reviewed.word), subtask),
    )
    say(work, step, review(done.word), subtask)
    if done.word.status is ReviewStatus.BLOCKED:
        raise _blocked(work, step, done.word)
    return done.word


def _said(work: Work) -> tuple[HandoffSection, ...]:
    if work.made is None:
        return ()
    return (HandoffSection(Priority.PLAN, "What the author says of the work", summary(work.made)),)


def _blocked(work: Work, step: Step[Reviewed], word: Critique) -> Ended:
    missing = "; ".join(word.missing)
    told = clean(f"The {step.role} could not review {work.run.item.story_id}. Missing: {missing}", 4000)
    kept = work.run.item.last_feedback or VerdictFeedback()
    outcome = NeedsPerson(
        None, f"{told}. What should happen?", (RETRY, EDIT_SPEC, CANCEL), kept.model_copy(update={"message": told})
    )
    return Ended(outcome, f"the {step.role} could not review the work")
