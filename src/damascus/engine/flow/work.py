"""What the steps of a full build share: where the next agent starts, which tests are accepted, what critics left."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from pydantic import BaseModel, Field

from damascus import stacks
from damascus.domain.config import Budget, Config
from damascus.domain.critique import Critique
from damascus.domain.feedback import VerdictFeedback
from damascus.domain.handoff import HandoffSection, Priority
from damascus.domain.ids import Sha
from damascus.domain.money import DOLLAR
from damascus.domain.outcome import Outcome
from damascus.domain.scope import Scope
from damascus.domain.spec import Spec
from damascus.domain.verdict import Phase
from damascus.engine.agent_step.briefs import Handed
from damascus.engine.agent_step.context import scoped
from damascus.engine.agent_step.results import AgentResult
from damascus.engine.agent_step.workspace import StartingPoint
from damascus.engine.flow.inputs import WHOLE, Inputs, Subtask, read_inputs
from damascus.engine.judging import Judged
from damascus.engine.run import Run
from damascus.engine.step import Step, StepKind
from damascus.engine.steps.implement import Made
from damascus.store import artifacts
from damascus.store.receipts import RECEIPT_FILE

A = TypeVar("A", bound=AgentResult)


class Ended(Exception):
    """The flow ends before its commit; `why` stands in the artifacts that were not reached."""

    def __init__(self, outcome: Outcome, why: str) -> None:
        super().__init__(why)
        self.outcome, self.why = outcome, why


class LoopEnded(BaseModel):
    """The run's budget ended a loop: how much of what was used, and what is open."""

    used: str
    left: list[str] = Field(default_factory=list)


SPENT = Step(
    "spent", Phase.BUILD, StepKind.LOCAL, LoopEnded, "the run's budget ended a loop: what was used, and what is open"
)  # fmt: skip


@dataclass
class Work:
    """One run of the flow. All of it follows from the journal and the base commit, so a killed run finds it again."""

    run: Run
    spec: Spec
    config: Config
    inputs: Inputs
    at: StartingPoint
    """With all that was made so far."""
    made: Made | None = None
    """The last author's work."""
    judged: Judged | None = None
    """What our gates said last of an author's work."""
    seen: list[Judged] = field(default_factory=list)
    """All that our own runs have shown up to now."""
    accepted: frozenset[str] = frozenset()
    """Tests that a critic has accepted."""
    notes: dict[str, str] = field(default_factory=dict)
    """What context-loader and clarifier found, for those who follow: by heading."""
    open: list[str] = field(default_factory=list)
    """What critics left and nobody was asked to cure yet."""
    done: list[AgentResult] = field(default_factory=list)
    """Every agent's result up to now."""
    told: dict[str, dict[str, str]] = field(default_factory=dict)
    """What stands in the artifacts, by step and subtask."""

    @classmethod
    def begun(cls, run: Run, spec: Spec, start: StartingPoint) -> "Work":
        """Each role answers for what it changes itself: what an earlier run made is judged again by its critic."""
        config = run.tools.read_config(start.base)
        inputs = read_inputs(run.tools.mirror, Sha(start.base), f"{config.flow.inputs.strip('/')}/{run.item.story_id}")
        return cls(run, spec, config, inputs, start.model_copy(update={"checked": True}))

    def skips(self, step: Step[Any]) -> bool:
        return step.name in self.config.flow.skip

    # ── an agent's turn ───────────────────────────────────────────────────────────────────────────────

    def send(
        self,
        step: Step[A],
        key: str,
        *,
        subtask: Subtask = WHOLE,
        feedback: VerdictFeedback | None = None,
        more: tuple[HandoffSection, ...] = (),
        failed: Callable[[Run, A], Outcome | None] | None = None,
        leaves: Callable[[A], None],
    ) -> A:
        """Raises Ended with what becomes of the story, where the agent's end is no result to build upon."""
        handed = Handed(feedback, (*self._sections(subtask), *more))
        result = self.run.agent(
            step, self.spec, self.at, key=key, accepted=self.accepted, failed=failed, handed=handed, leaves=leaves
        )
        if isinstance(result, Outcome):
            raise Ended(result, f"the run ended in step {step.name}")
        self.done.append(result)
        return result

    def _sections(self, subtask: Subtask) -> tuple[HandoffSection, ...]:
        found = []
        if subtask is not WHOLE:
            found.append(HandoffSection(Priority.PLAN, f"Part to do now: {subtask.title}", subtask.text))
        if self.accepted:
            listed = "\n".join(f"- {path}" for path in sorted(self.accepted))
            found.append(HandoffSection(Priority.PLAN, "Accepted tests, which stay as they are", listed))
        found += [HandoffSection(Priority.PLAN, title, text) for title, text in self.notes.items()]
        found += self.inputs.sections
        return tuple(found)

    def goes_on_with(self, made: Made) -> None:
        """The next agent starts from this author's files."""
        self.made, self.at = made, made.starting_point()

    def previous_receipt(self) -> tuple[HandoffSection, ...]:
        """What an earlier run of the story came to, for those who judge this one (F12)."""
        found = artifacts.latest(self.run.tools.db, self.run.item.id, RECEIPT_FILE)
        if found is None or found.run_no >= self.run.item.run_no:
            return ()
        text = found.content.decode("utf-8", errors="replace")
        return (HandoffSection(Priority.SPECS, "Receipt of the build before this one", text, quoted=True),)

    # ── the critics' word ─────────────────────────────────────────────────────────────────────────────

    def accept_tests(self, critique: Critique | None) -> None:
        """Once a critic let them pass, only their author may change them."""
        self.keep_open(critique)
        if critique is not None:
            tree, scope = Sha(self.at.start or self.at.base), Scope(self.run.item.file_scope)
            patterns = self.config.test.patterns
            found = (path for path, _ in scoped(self.run.tools.mirror, tree, scope))
            self.accepted = frozenset(path for path in found if stacks.is_test(path, patterns))

    def keep_open(self, critique: Critique | None) -> None:
        self.open += [concern.told for concern in critique.concerns] if critique else []

    def take_open(self) -> list[str]:
        taken, self.open = self.open, []
        return taken

    # ── the run's budget ──────────────────────────────────────────────────────────────────────────────

    def is_spent(self, loop: str, critique: Critique | None = None) -> bool:
        """By what this run's agents used until now, as the journal has it: whoever goes on with it decides the same."""
        used = used_up(self.config.budget, self.done)
        if used:
            left = [concern.told for concern in critique.concerns] if critique else []
            self.run.local(SPENT, lambda: LoopEnded(used=used, left=left), key=loop)
        return bool(used)


def used_up(budget: Budget, done: list[AgentResult]) -> str:
    """What of its budget the run has used, in words; "" while there is something left. An agent takes a turn at
    least, also one that counts none."""
    used: list[tuple[float, float, str]] = [
        (sum(each.seconds for each in done), budget.run_seconds, "seconds"),
        (sum(max(each.usage.turns, 1) for each in done), budget.run_turns, "turns"),
        (sum(each.usage.tokens for each in done), budget.run_tokens, "tokens"),
        (sum(each.cost or 0 for each in done) / DOLLAR, budget.run_usd, "dollars"),
    ]
    return ", ".join(f"{spent:g} of {most:g} {unit}" for spent, most, unit in used if most and spent >= most)
