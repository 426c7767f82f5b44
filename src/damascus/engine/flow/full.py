"""Profile `full` of a build (F1): twelve steps in their order, until there is one commit to be judged.

branch → load_context → clarify → for each subtask (author_tests ⇄ critique_tests → implement ⇄ critique_code)
→ mutate ⇄ fix → docs → self_review → commit

What follows is as in `direct`: no critic's word takes the place of a gate.
"""

from damascus.domain.outcome import Outcome, Wait
from damascus.domain.spec import Spec
from damascus.engine.agent_step.workspace import StartingPoint
from damascus.engine.flow.authors import AUTHOR_TESTS, DOCS, FIX, docs
from damascus.engine.flow.commit import COMMIT, commit
from damascus.engine.flow.critics import CRITIQUE_CODE, CRITIQUE_TESTS, SELF_REVIEW, self_review
from damascus.engine.flow.hardening import MUTATE
from damascus.engine.flow.loops import code_loop, hardening_loop, test_loop
from damascus.engine.flow.opening import BRANCH, CLARIFY, LOAD_CONTEXT, branch, clarify, load_context
from damascus.engine.flow.papers import complete
from damascus.engine.flow.work import Ended, Work
from damascus.engine.run import Run
from damascus.engine.steps.implement import IMPLEMENT, Made

STEPS = (
    BRANCH, LOAD_CONTEXT, CLARIFY, AUTHOR_TESTS, CRITIQUE_TESTS, IMPLEMENT, CRITIQUE_CODE, MUTATE, FIX, DOCS,
    SELF_REVIEW, COMMIT,
)  # fmt: skip


def full(run: Run, spec: Spec, start: StartingPoint) -> Made | Outcome:
    """A commit to be judged, or what becomes of the story."""
    work = Work.begun(run, spec, start)
    try:
        branch(work)
        load_context(work)
        clarify(work)
        for subtask in work.inputs.subtasks:
            test_loop(work, subtask)
            code_loop(work, subtask)
        hardening_loop(work)
        docs(work)
        self_review(work)
        return commit(work)
    except Ended as ended:
        if not isinstance(ended.outcome, Wait):  # this run goes on
            complete(work, ended.why)
        return ended.outcome
