"""Implement, the agent's step of a build: a fresh workspace, an agent in it, its files as one commit.

Once it is done it never runs again: what it cost and what it made are in the journal.
"""

from typing import Self

from pydantic import Field

from damascus.domain.outcome import Outcome, Rejected
from damascus.domain.ports import Report
from damascus.domain.roles import Role
from damascus.domain.spec import Spec
from damascus.domain.verdict import Phase, Verdict
from damascus.engine.agent_step.results import AgentResult, agent_failed, sentences, told_by
from damascus.engine.agent_step.workspace import StartingPoint
from damascus.engine.run import Run
from damascus.engine.step import Step, StepKind


class Made(AgentResult):
    """The agent's work as one commit on its base, and what it says of it."""

    changed: list[str] = Field(default_factory=list)
    weak: list[str] = Field(default_factory=list)
    open: list[str] = Field(default_factory=list)

    def answered(self, report: Report | None, text: str | None) -> Self:
        """What counts is its files: whoever says nothing of them has answered all the same."""
        told = {**report.claims, **report.whole} if report else {}
        return self.model_copy(update={name: sentences(told.get(name)) for name in ("changed", "weak", "open")})


IMPLEMENT = Step(
    "implement", Phase.BUILD, StepKind.AGENT, Made,
    "the agent writes in a fresh workspace; its files become a commit",
    role=Role.CODE_IMPLEMENTER,
)  # fmt: skip


def implement(run: Run, spec: Spec, start: StartingPoint) -> Made | Outcome:
    """A commit to be judged, or what becomes of the story."""
    return run.agent(IMPLEMENT, spec, start, failed=nothing_made)


def nothing_made(run: Run, made: Made) -> Rejected | None:
    """Also an agent that changed nothing has failed."""
    if made.succeeded and made.commit is None and not made.forbidden:
        feedback = told_by(made).model_copy(update={"message": "the agent changed nothing that counts"})
        return Rejected(Verdict.NOTHING_CHANGED, feedback)
    return agent_failed(run, made)
