"""Refine, the agent's step of a spec: what a rough story lacks, as `spec.md` in the artifacts folder."""

from typing import ClassVar, Self

from pydantic import Field

from damascus.domain.outcome import Outcome
from damascus.domain.ports import Report
from damascus.domain.roles import Role
from damascus.domain.spec import Spec
from damascus.domain.verdict import Phase
from damascus.engine.agent_step.results import AgentResult, reason
from damascus.engine.agent_step.workspace import StartingPoint
from damascus.engine.run import Run
from damascus.engine.step import Step, StepKind


class Refined(AgentResult):
    """What the refiner left as `spec.md`, and what it asks."""

    artifact: ClassVar[str] = "spec.md"
    largest: ClassVar[int] = 100_000
    """What is longer is no spec that a person reads before they approve it."""

    text: str | None = None
    questions: list[str] = Field(default_factory=list)

    def answered(self, report: Report | None, text: str | None) -> Self:
        """No spec.md is an answer as well: then it has questions."""
        return self.model_copy(update={"text": text, "questions": report.concerns if report else []})


REFINE = Step(
    "refine",
    Phase.SPEC,
    StepKind.AGENT,
    Refined,
    "asks the spec-refiner for what a rough story lacks",
    role=Role.SPEC_REFINER,
)


def refine(run: Run, rough: Spec) -> Refined | Outcome:
    """The refiner reads main's tip. That it failed is a question for a person, and no attempt."""
    start = StartingPoint(base=run.tools.forge.main_tip())
    return run.agent(REFINE, rough, start, failed=lambda *_: None)


def questions_of(run: Run, refined: Refined) -> list[str]:
    """What it asks, or that it failed."""
    if refined.exit_code in (0, None) and not refined.ending.ended:
        return refined.questions
    how = reason(refined.ending) if refined.ending.ended else f"exit {refined.exit_code}"
    return [f"The refiner failed ({how}); see {run.folder / 'transcript.txt'}."]
