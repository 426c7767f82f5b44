"""report: the reporter tells in prose what was built (F11). Its words stand on the pull request beside the receipt,
marked as its own: no status and no number is ever taken from them, and a reporter that fails holds nobody."""

from typing import ClassVar, Self

from damascus.domain.outcome import Outcome
from damascus.domain.ports import Report
from damascus.domain.roles import Role
from damascus.domain.storable import clean
from damascus.domain.verdict import Phase
from damascus.engine.agent_step.results import AgentResult
from damascus.engine.step import Step, StepKind
from damascus.engine.steps.reviewers import PulledChange

LONGEST = 20_000


class Reported(AgentResult):
    """What it left as `report.md`; "" where it left none."""

    artifact: ClassVar[str] = "report.md"
    largest: ClassVar[int] = LONGEST

    text: str = ""

    def answered(self, report: Report | None, text: str | None) -> Self:
        return self.model_copy(update={"text": clean(text or "", LONGEST)})


REPORT = Step(
    "report", Phase.REVIEW, StepKind.AGENT, Reported, "the reporter's prose for the pull request", role=Role.REPORTER
)


def report(change: PulledChange) -> Outcome | None:
    """Only what keeps every agent from working is an outcome here."""
    done = change.run.agent(
        REPORT, change.spec, change.start, key=change.head, handed=change.handed(), failed=lambda *_: None
    )
    return done if isinstance(done, Outcome) else None
