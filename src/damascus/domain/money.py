"""What agent steps may spend and have spent (X5): tokens as providers count them, dollars by our own price table.

Money is counted in millionths of a dollar, so that a price in dollars for a million tokens times tokens is exact. A
model without a price costs an unknown amount, which is never taken for nothing.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from damascus.domain.errors import UsageError

if TYPE_CHECKING:
    from damascus.domain.config import Budget, Models
    from damascus.domain.ports import Usage

DOLLAR = 1_000_000
FORECAST_FROM = 3
"""With fewer merged stories than this there is no forecast."""
Whose = Literal["step", "story", "project"]
Unit = Literal["tokens", "dollars"]


@dataclass(frozen=True)
class Price:
    """Dollars for a million tokens, which is millionths of a dollar for one."""

    input: float
    output: float
    cached: float

    @classmethod
    def of(cls, models: "Models", model: str) -> "Price | None":
        listed = models.prices.get(model)
        if listed is None:
            return None
        if len(listed) not in (2, 3) or any(each < 0 for each in listed):
            raise UsageError(
                f"[models.prices] {model} = {listed}: give [input, output] or [input, output, cached input] in "
                "dollars for a million tokens (docs/config.md)."
            )
        return cls(listed[0], listed[1], listed[2] if len(listed) == 3 else listed[0])

    def cost(self, usage: "Usage") -> int:
        """Rounded up: a step is never cheaper in our books than on the bill."""
        given = usage.input_tokens * self.input + usage.cached_tokens * self.cached
        exact = given + usage.output_tokens * self.output
        return math.ceil(round(exact, 6))


# ── budgets ───────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class BudgetStanding:
    """One unit of one step that wants to start: its limits (0: none), what is spent and what others have reserved."""

    step: int = 0
    story: int = 0
    project: int = 0
    story_spent: int = 0
    project_spent: int = 0
    project_reserved: int = 0


@dataclass(frozen=True)
class Granted:
    """What a step may use; 0: as much as it likes. `whose` budget ends it there."""

    amount: int = 0
    whose: Whose = "step"


@dataclass(frozen=True)
class Spent:
    """Nothing is left of that budget: only a person can raise it."""

    whose: Whose
    limit: int
    spent: int


@dataclass(frozen=True)
class Reserved:
    """The project's budget would do, but steps that run have reserved it: wait until they are settled."""

    limit: int
    reserved: int


def allow(at: BudgetStanding) -> Granted | Spent | Reserved:
    """May a step start, and with how much? What all running steps may use never exceeds what is left.

    A step gets its whole limit, or less only when less is really left; it never gets less because others run.
    """
    if at.story and at.story_spent >= at.story:
        return Spent("story", at.story, at.story_spent)
    if at.project and at.project_spent >= at.project:
        return Spent("project", at.project, at.project_spent)
    left: list[tuple[int, Whose]] = [(at.step, "step")] if at.step else []
    left += [(at.story - at.story_spent, "story")] if at.story else []
    left += [(at.project - at.project_spent, "project")] if at.project else []
    if not left:
        return Granted()
    amount, whose = min(left, key=lambda each: each[0])
    if at.project and at.project_spent + at.project_reserved + amount > at.project:
        return Reserved(at.project, at.project_reserved)
    return Granted(amount, whose)


def limits(budget: "Budget", unit: Unit) -> tuple[int, int, int]:
    """Step, story and project as [budget] says it, in tokens or millionths of a dollar."""
    if unit == "tokens":
        return budget.step_tokens, budget.story_tokens, budget.project_tokens
    return micro(budget.step_usd), micro(budget.story_usd), micro(budget.project_usd)


def micro(dollars: float) -> int:
    return round(dollars * DOLLAR)


# ── what it comes to ──────────────────────────────────────────────────────────────────────────────────


def forecast(costs: Sequence[int], open_stories: int) -> int | None:
    """What the queue will cost: the median of merged stories times what is open. None: too few are merged."""
    if len(costs) < FORECAST_FROM:
        return None
    import statistics  # here: `status` reads this module and mostly has nothing to forecast

    return round(statistics.median(costs) * open_stories)


def said(amount: int, unit: Unit) -> str:
    return in_tokens(amount) if unit == "tokens" else in_dollars(amount)


def in_tokens(count: int) -> str:
    """`950 tokens`, `12 k tokens`, `3.4 M tokens`."""
    if count < 10_000:
        return f"{count:,} token{'' if count == 1 else 's'}"
    return f"{count / 1000:.0f} k tokens" if count < 1_000_000 else f"{count / 1_000_000:.1f} M tokens"


def in_dollars(millionths: int) -> str:
    """`$12.40`; cents matter, fractions of one only where there is nothing else."""
    return f"${millionths / DOLLAR:,.2f}" if millionths >= DOLLAR // 100 or not millionths else "under $0.01"


def amount_of(words: str, unit: Unit) -> int:
    """A person's number: `40000000`, `40M`, `500k`, `12.50`, `$12.50`."""
    text = words.strip().removeprefix("$").replace(",", "").replace("_", "").lower()
    factor = {"k": 1_000, "m": 1_000_000}.get(text[-1:], 1)
    try:
        number = float(text[:-1] if factor > 1 else text) * factor
    except ValueError:
        number = math.nan
    if not math.isfinite(number) or number <= 0:
        raise UsageError(f"{words.strip() or 'nothing'!r} is no amount. Say a number, as 40M or 12.50.")
    return round(number) if unit == "tokens" else micro(number)
