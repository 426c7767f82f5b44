"""What agents said of a story, in its full build and of its pull request, for the receipt: claims, each with who made
it; and the numbers that tools told them meanwhile."""

from typing import TypeVar

from damascus.domain.config import Config
from damascus.domain.ports import GateName
from damascus.domain.run_counts import MutationNumbers, RunCounts
from damascus.domain.said import Said
from damascus.engine.agent_step.results import AgentResult
from damascus.engine.agent_step.reviewed import Reviewed
from damascus.engine.flow.critics import CRITIQUE_CODE, CRITIQUE_TESTS
from damascus.engine.flow.full import STEPS
from damascus.engine.flow.hardening import EXPLAIN_MUTANTS, MUTATE
from damascus.engine.flow.opening import BRANCH, Notes
from damascus.engine.flow.papers import review, summary
from damascus.engine.flow.shown import RUN_TESTS
from damascus.engine.flow.work import SPENT
from damascus.engine.judging import Judged
from damascus.engine.run import Run
from damascus.engine.step import Outputs, StepKind
from damascus.engine.steps.implement import Made
from damascus.engine.steps.reviewers import REVIEWS, words_of
from damascus.engine.steps.sast import SAST
from damascus.evidence.receipt_evidence import mutation_numbers
from damascus.store.db import Row

N = TypeVar("N", RunCounts, MutationNumbers)
CRITICS = (CRITIQUE_TESTS, CRITIQUE_CODE)
AGENTS = {step.name: step for step in (*STEPS, EXPLAIN_MUTANTS) if step.kind is StepKind.AGENT}


def said(run: Run) -> list[Said]:
    """Every report of the story's latest build, oldest first (none in profile `direct`), then of those who read its
    pull request."""
    rows = _steps(run)
    return [*(_said(row["step"], row["key"], row["output"]) for row in rows if row["step"] in AGENTS), *reviews(run)]


def reviews(run: Run) -> list[Said]:
    """What those said who read the pull request, since it was built."""
    names = [step.name for step in (*REVIEWS, SAST)]
    rows = run.tools.db.all("steps_of_review", item=run.item.id, steps=names)
    spoken = words_of(Outputs({row["step"]: row["output"] for row in rows}))
    return [
        Said(step=step.name, role=step.role, critique=word, claims=result.claims, text=review(word))
        for step, result, word in spoken
    ]


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
    base = next((row["output"]["base"] for row in rows if row["step"] == BRANCH.name), run.item.base_commit)
    return left_out_by(run.tools.read_config(base) if base else None, full=bool(rows))


def left_out_by(config: Config | None, full: bool) -> list[str]:
    """As the rules say it; None: there are none yet."""
    if full:
        return [step.name for step in STEPS if config and step.name in config.flow.skip]
    return [step.name for step in (*CRITICS, *(() if config and config.review.critic else REVIEWS))]


def left_open(run: Run) -> list[str]:
    """What the run's budget kept from being cured, in the story's latest build."""
    spent = [SPENT.parse(row["output"]) for row in _steps(run) if row["step"] == SPENT.name]
    return [f"the run's budget was used up ({each.used}): {concern}" for each in spent for concern in each.left]


def told_by_tools(run: Run) -> tuple[list[RunCounts], list[MutationNumbers]]:
    """What our own runs told of the work in progress: agents were shown it, so they may speak of it."""
    judged = [
        Judged.model_validate(row["output"]) for row in _steps(run) if row["step"] in (MUTATE.name, RUN_TESTS.name)
    ]
    runs = [result.run for each in judged for result in each.results if result.run is not None]
    mutations = [mutation_numbers(each.of(GateName.MUTATION)) for each in judged]
    return _once(runs), _once([each for each in mutations if each.ran])


def _once(told: list[N]) -> list[N]:
    return list({each.model_dump_json(): each for each in told}.values())


def _steps(run: Run) -> list[Row]:
    """What was done in the story's latest build, if that was a full one."""
    rows = run.tools.db.all("steps_of_build", item=run.item.id)
    return rows if any(row["step"] == BRANCH.name for row in rows) else []
