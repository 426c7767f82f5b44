"""The purse of one agent step: money is reserved before the agent is sent, and settled with what it really used (X5).

The reservation is written in the transaction of the step's intent, so that no agent is sent without one and no two
steps are promised the same money. What is left of a budget decides how far the step may go; the overseer ends it there.
"""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import timedelta

from damascus.domain import money, recovery
from damascus.domain.config import Config
from damascus.domain.errors import DamascusError, Stopping
from damascus.domain.events import EventKind
from damascus.domain.feedback import VerdictFeedback
from damascus.domain.money import Granted, Price, Reserved, Spent, Unit
from damascus.domain.outcome import NeedsPerson, Wait
from damascus.domain.ports import Usage
from damascus.domain.waits import WaitKind
from damascus.engine.run import Run
from damascus.store import spending
from damascus.store.db import Connection
from damascus.store.spending import Dispatch

LOOK_AGAIN = timedelta(seconds=10)
"""How soon a story that found the project's budget reserved by others looks again."""


class NotSent(Exception):
    """The step must not be sent; `outcome` says what becomes of the story."""

    def __init__(self, outcome: NeedsPerson | Wait) -> None:
        super().__init__(str(outcome))
        self.outcome = outcome


@dataclass
class Purse:
    """What one dispatch of an agent may use and has used."""

    run: Run
    config: Config
    dispatch: Dispatch
    tokens: Granted = field(default_factory=Granted)
    dollars: Granted = field(default_factory=Granted)
    latest: Callable[[], Usage] = Usage
    recorded: Usage = field(default_factory=Usage)
    reserved: bool = False

    @property
    def price(self) -> Price | None:
        return Price.of(self.config.models, self.dispatch.model)

    def reserve(self, c: Connection) -> None:
        """In the transaction of the step's intent. Raises NotSent, and nothing is written."""
        tokens, dollars = money.limits(self.config.budget, "tokens"), money.limits(self.config.budget, "dollars")
        sums = spending.sums(c, self.run.item, whole=bool(tokens[2] or dollars[2]))
        self.tokens = self._granted(money.allow(sums.standing("tokens", tokens)), "tokens")
        self.dollars = self._granted(money.allow(sums.standing("dollars", dollars)), "dollars")
        spending.reserve(c, self.dispatch, self.tokens, self.dollars)
        self.reserved = True

    def uses(self, model: str) -> None:
        """Which model it is, is known once the brief is written."""
        self.dispatch = replace(self.dispatch, model=model)

    def _granted(self, allowed: Granted | Spent | Reserved, unit: Unit) -> Granted:
        match allowed:
            case Spent():
                raise NotSent(ask_for_more(self.run, allowed.whose, unit, allowed))
            case Reserved():
                told = f"{money.said(allowed.reserved, unit)} of the project's {money.said(allowed.limit, unit)}"
                message = f"{told} are reserved by steps that run"
                raise NotSent(Wait(WaitKind.BUDGET, f"of {unit}", LOOK_AGAIN, message))
        return allowed

    def observe(self) -> None:
        """Written while the agent runs, so that a worker that dies has told what was spent."""
        usage = self.latest()
        if usage != self.recorded:
            self.run.tools.db.run(lambda c: self._record(c, usage, final=False))
            self.recorded = usage

    def settle(self, c: Connection, usage: Usage) -> None:
        """In the transaction of the step's result."""
        self._record(c, usage, final=True)

    def give_up(self) -> None:
        """The step comes to no result of its own; what it used is used all the same."""
        if self.reserved:
            with suppress(Stopping, DamascusError):
                self.run.tools.db.run(lambda c: self._record(c, self.latest(), final=True))

    def _record(self, c: Connection, usage: Usage, *, final: bool) -> None:
        cost = self.price.cost(usage) if self.price else None
        spending.record(c, self.dispatch, usage, cost, final=final)


def ask_for_more(run: Run, whose: str, unit: Unit, spent: Spent | None = None, price_of: str = "") -> NeedsPerson:
    """A budget that is spent is a person's to raise; nothing is charged, and nothing is sent until then."""
    story = run.item.story_id
    if price_of:
        question = (
            f"{story} has a budget in dollars, but there is no price for model {price_of}. "
            "Add it to [models.prices] on main, then retry."
        )
        options: tuple[str, ...] = (recovery.RETRY, recovery.CANCEL)
    else:
        told = f": {money.said(spent.spent, unit)} of {money.said(spent.limit, unit)}" if spent else ""
        owner = story if whose == "story" else "the project"
        question = f"{owner} has spent its budget of {unit}{told} ([budget] {whose}_{_key(unit)}). What should happen?"
        options = (recovery.raises(whose, unit), recovery.CANCEL)
    kept = run.item.last_feedback or VerdictFeedback()
    return NeedsPerson(None, question, options, kept.model_copy(update={"message": question}), EventKind.BLOCKED_BUDGET)


def _key(unit: Unit) -> str:
    return "tokens" if unit == "tokens" else "usd"
