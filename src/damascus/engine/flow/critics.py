"""Those who judge: test-critic, code-critic, self-reviewer. None writes a file; where mounts can do it, none can. Each
sees the files, what its author says of them, and what our own run of the tests showed.

A critic's answer is its report (agent_step/reviewed.py); what is no review is BLOCKED.
"""

from damascus.domain.critique import Critique, ReviewStatus
from damascus.domain.handoff import HandoffSection, Priority
from damascus.domain.roles import Role
from damascus.domain.verdict import Phase
from damascus.engine.agent_step.reviewed import Reviewed, could_not_review
from damascus.engine.flow.inputs import ONCE, WHOLE, Subtask
from damascus.engine.flow.opening import goes_on
from damascus.engine.flow.papers import leave, left_out, review, say, summary
from damascus.engine.flow.shown import invented, shown
from damascus.engine.flow.work import Ended, Work
from damascus.engine.step import Step, StepKind

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
    _reviewed(work, SELF_REVIEW, WHOLE, ONCE, invented(work))


def _reviewed(
    work: Work, step: Step[Reviewed], subtask: Subtask, key: str, more: tuple[HandoffSection, ...] = ()
) -> Critique | None:
    """None: there is no critic."""
    if work.skips(step):
        left_out(work, step)
        return None
    done = work.send(
        step,
        key,
        subtask=subtask,
        more=(*more, *shown(work, f"{step.name} {key}"), *_said(work), *work.previous_receipt()),
        failed=goes_on,
        leaves=lambda reviewed: leave(work, step, review(reviewed.word), subtask),
    )
    say(work, step, review(done.word), subtask)
    if done.word.status is ReviewStatus.BLOCKED:
        outcome = could_not_review(work.run, step.role, done.word)
        raise Ended(outcome, f"the {step.role} could not review the work")
    return done.word


def _said(work: Work) -> tuple[HandoffSection, ...]:
    if work.made is None:
        return ()
    return (HandoffSection(Priority.PLAN, "What the author says of the work", summary(work.made)),)
