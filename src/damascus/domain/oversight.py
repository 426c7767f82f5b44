"""When is a running agent ended, warned or given more time? What is observed of it decides, not what it says.

`Observed` is what was seen so far, `decide` says what follows (W8, W17, W18, X5). Pure: signs and moments come from
outside, so that hours can be tested in milliseconds. docs/oversight.md tells the same rules to users.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from damascus.domain.config import Config
from damascus.domain.failures import transient_status
from damascus.domain.money import Granted, Price
from damascus.domain.ports import Denial, Usage
from damascus.domain.signs import EndedBy, Sign

DENIALS = 2
"""The same tool denied so often in a row ends the agent (W8)."""
WARN_PART = 0.75
"""Where the configured warning would come after the limit, it comes after this part of it."""
PROGRESS = frozenset({Sign.WRITE, Sign.TURN, Sign.ACCEPTED})
"""A write, an answer of the model, a tool that ran (tests among them). Output alone is a sign of life only."""
API_FINE = frozenset({Sign.API_OK, Sign.TURN, Sign.USAGE})


@dataclass(frozen=True)
class StepLimits:
    """What holds one agent step, in seconds, tokens, turns and millionths of a dollar; 0: no limit of that kind."""

    seconds: float
    most: float
    warn: float
    extend: float
    progress: float
    idle: float
    first_write: float
    api_errors: int
    turns: int = 0
    tokens: int = 0
    microdollars: int = 0
    price: Price | None = None

    @classmethod
    def of(cls, config: Config, tokens: Granted, dollars: Granted, price: Price | None) -> "StepLimits":
        """`most` is never below the limit itself, and a warning always comes before it."""
        time, limit = config.time, config.agent.timeout_seconds
        return cls(
            seconds=limit,
            most=max(time.most_seconds, limit),
            warn=time.warn_seconds if time.warn_seconds < limit else limit * WARN_PART,
            extend=time.extend_seconds,
            progress=time.progress_seconds,
            idle=time.idle_seconds,
            first_write=time.first_write_seconds,
            api_errors=time.api_errors,
            turns=config.agent.max_turns,
            tokens=tokens.amount,
            microdollars=dollars.amount,
            price=price,
        )


@dataclass(frozen=True)
class Observed:
    """What was seen of one agent step. Moments are of one monotonic clock."""

    started: float
    last_sign: float
    last_progress: float
    deadline: float
    first_write: float | None = None
    warned: bool = False
    api_errors: int = 0
    api_status: int = 0
    resets_at: float | None = None
    denials: Mapping[str, int] = field(default_factory=dict)
    denied: Denial | None = None
    """The denial that was one too many. It stays, whatever the agent does next."""
    hook_failed: bool = False
    turns: int = 0
    usage: Usage = field(default_factory=Usage)

    @classmethod
    def begin(cls, limits: StepLimits, now: float) -> "Observed":
        """To have begun is a sign of life and no progress."""
        return cls(started=now, last_sign=now, last_progress=-math.inf, deadline=now + limits.seconds)

    def saw(self, sign: Sign, now: float, facts: Mapping[str, object]) -> "Observed":
        """The state after a sign."""
        seen = replace(self, last_sign=now, last_progress=now if sign in PROGRESS else self.last_progress)
        if sign in API_FINE:
            seen = replace(seen, api_errors=0, resets_at=None)
        match sign:
            case Sign.WRITE:
                return replace(seen, first_write=now if self.first_write is None else self.first_write)
            case Sign.TURN:
                return replace(seen, turns=self.turns + 1)
            case Sign.USAGE:
                used = facts.get("usage")
                return replace(seen, usage=self.usage + used) if isinstance(used, Usage) else seen
            case Sign.API_ERROR:
                return seen._failed_call(now, facts)
            case Sign.DENIED:
                return seen._denied(facts)
            case Sign.ACCEPTED:
                tool = str(facts.get("tool", ""))
                return replace(seen, denials={name: n for name, n in self.denials.items() if name != tool})
            case Sign.HOOK_FAILED:
                return replace(seen, hook_failed=True)
            case Sign.OUTPUT | Sign.API_OK:
                return seen
        return seen  # whatever an adapter of another version calls it, it is a sign of life

    def _failed_call(self, now: float, facts: Mapping[str, object]) -> "Observed":
        status, resets_in = facts.get("status"), facts.get("resets_in")
        return replace(
            self,
            api_errors=self.api_errors + 1,
            api_status=status if isinstance(status, int) else 0,
            resets_at=now + resets_in if isinstance(resets_in, int | float) else None,
        )

    def _denied(self, facts: Mapping[str, object]) -> "Observed":
        given = facts.get("denial")
        if not isinstance(given, Denial):
            given = Denial(tool=str(facts.get("tool", "a tool")), error=str(facts.get("error", "denied")))
        count = self.denials.get(given.tool, 0) + 1
        final = given if self.denied is None and count >= DENIALS else self.denied
        return replace(self, denials={**self.denials, given.tool: count}, denied=final)

    def resets_in(self, now: float) -> float | None:
        return None if self.resets_at is None else max(self.resets_at - now, 0.0)

    @property
    def refused(self) -> bool:
        """The gateway answers, and says no: a wrong key or model is cured by a person, not by time (T1)."""
        return 400 <= self.api_status < 500 and self.api_status != 408 and not transient_status(self.api_status)


@dataclass(frozen=True)
class Decision:
    """What follows now. `extended_to` is a moment."""

    end: EndedBy = EndedBy.ITSELF
    warn: str = ""
    extended_to: float | None = None


def decide(seen: Observed, limits: StepLimits, now: float) -> Decision:
    """What follows from what was seen. The agent's own trouble comes before the clock: it is the better reason."""
    if end := _trouble(seen, limits, now) or _spent(seen, limits) or _stuck(seen, limits, now):
        return Decision(end=end)
    if now >= seen.deadline:
        hard = seen.started + limits.most
        progress = now - seen.last_progress <= limits.progress
        if not progress or seen.deadline >= hard:
            return Decision(end=EndedBy.TIME)
        return Decision(extended_to=min(max(seen.deadline, now) + limits.extend, hard))
    if not seen.warned and now >= seen.started + limits.warn:
        return Decision(warn=f"{now - seen.started:.0f} s are over; its limit is {limits.seconds:.0f} s")
    return Decision()


def _trouble(seen: Observed, limits: StepLimits, now: float) -> EndedBy:
    if seen.hook_failed:
        return EndedBy.HOOK
    if seen.denied is not None:
        return EndedBy.DENIED
    long_reset = seen.api_errors > 0 and (seen.resets_in(now) or 0.0) > limits.idle
    return EndedBy.API_ERRORS if seen.api_errors > limits.api_errors or long_reset else EndedBy.ITSELF


def _spent(seen: Observed, limits: StepLimits) -> EndedBy:
    if limits.tokens and seen.usage.tokens >= limits.tokens:
        return EndedBy.TOKENS
    if limits.turns and (seen.turns or seen.usage.turns) > limits.turns:
        return EndedBy.TURNS
    if limits.microdollars and seen.usage.tokens:
        cost = limits.price.cost(seen.usage) if limits.price else limits.microdollars
        return EndedBy.MONEY if cost >= limits.microdollars else EndedBy.ITSELF
    return EndedBy.ITSELF


def _stuck(seen: Observed, limits: StepLimits, now: float) -> EndedBy:
    if limits.idle and now - seen.last_sign > limits.idle:
        return EndedBy.IDLE
    late = limits.first_write and now - seen.started > limits.first_write
    return EndedBy.NO_WRITE if late and seen.first_write is None else EndedBy.ITSELF


def follow(seen: Observed, decision: Decision) -> Observed:
    """The state once the decision was carried out."""
    return replace(
        seen,
        warned=seen.warned or bool(decision.warn),
        deadline=seen.deadline if decision.extended_to is None else decision.extended_to,
    )
