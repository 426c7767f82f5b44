"""What the agents of a full build said, for the receipt: claims, each with who made it. No evidence is here."""

from typing import Any

from damascus.domain.said import Said
from damascus.engine.agent_step.results import AgentResult
from damascus.engine.agent_step.reviewed import Reviewed
from damascus.engine.flow.critics import CRITIQUE_CODE, CRITIQUE_TESTS
from damascus.engine.flow.full import STEPS
from damascus.engine.flow.hardening import EXPLAIN_MUTANTS
from damascus.engine.flow.opening import BRANCH, Notes
from damascus.engine.flow.papers import review, summary
from damascus.engine.flow.work import SPENT
from damascus.engine.run import Run
from damascus.engine.step import Step, StepKind
from damascus.engine.steps.implement import Made
from damascus.engine.steps.reviewers import REVIEWS
from damascus.store.db import Row

CRITICS = (CRITIQUE_TESTS, CRITIQUE_CODE)
AGENTS = {step.name: step for step in (*STEPS, EXPLAIN_MUTANTS) if step.kind is StepKind.AGENT}


def said(run: Run) -> list[Said]:
    """Every report of the story's latest build, oldest first; none in profile `direct`."""
    rows = _steps(run)
    return [_said(row["step"], row["key"], row["output"]) for row in rows if row["step"] in AGENTS]


def _said(name: str, key: str, output: object) -> Said:
    step = AGENTS[name]
    result = step.parse(output)
    assert isinstance(result, AgentResult)
    subtask, _, turn = key.rpartition(".")
    told = Said(step=name, role=step.role, round=int(turn or 1), subtask=subtask, claims=result.claims)
    match result:
        case Reviewed():
            return told.model_copy(update={"critique": result.word, "text": review(result.word)})
        case Made():
            return told.model_copy(update={"text": summary(result)})
        case Notes():
            return told.model_copy(update={"text": result.text})
    return told


def left_out(run: Run) -> list[str]:
    """The steps that nobody took in the story's latest build, by name: in profile `direct` every critic. Those who read
    the pull request later are named where nobody will ask them."""
    rows = _steps(run)
    if not rows:
        return [step.name for step in (*CRITICS, *_not_asked(run))]
    base = next((row["output"]["base"] for row in rows if row["step"] == BRANCH.name), None)
    skipped = run.tools.read_config(base).flow.skip if base else []
    return [step.name for step in STEPS if step.name in skipped]


def _not_asked(run: Run) -> tuple[Step[Any], ...]:
    base = run.item.base_commit
    return () if base and run.tools.read_config(base).review.critic else REVIEWS


def left_open(run: Run) -> list[str]:
    """What the run's budget kept from being cured, in the story's latest build."""
    spent = [SPENT.parse(row["output"]) for row in _steps(run) if row["step"] == SPENT.name]
    return [f"the run's budget was used up ({each.used}): {concern}" for each in spent for concern in each.left]


def _steps(run: Run) -> list[Row]:
    """What was done in the story's latest build, if that was a full one."""
    rows = run.tools.db.all("steps_of_build", item=run.item.id)
    return rows if any(row["step"] == BRANCH.name for row in rows) else []
