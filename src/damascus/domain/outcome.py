"""What a run of a phase came to, as values. `policy.decide` says what each one means for the item."""

from dataclasses import dataclass, field
from datetime import timedelta

from damascus.domain.events import EventKind
from damascus.domain.feedback import VerdictFeedback
from damascus.domain.verdict import Phase, Verdict
from damascus.domain.waits import WaitKind


@dataclass(frozen=True)
class Advance:
    """The phase is finished; the next one may begin."""

    to: Phase
    facts: dict[str, object] = field(default_factory=dict)


@dataclass(frozen=True)
class Landed:
    """The candidate is on main, checked by git."""

    merged_commit: str
    proof: str
    facts: dict[str, object] = field(default_factory=dict)
    files_changed: tuple[str, ...] = ()


@dataclass(frozen=True)
class Rejected:
    """A structural failure: an attempt is spent, the next one gets the feedback."""

    verdict: Verdict
    feedback: VerdictFeedback


@dataclass(frozen=True)
class Transient:
    """Trouble outside the story: nothing is charged, tried again later (T2).

    `wait` is how long it is known to last: a rate limit that says when it ends.
    """

    reason: str
    wait: timedelta | None = None


@dataclass(frozen=True)
class Wait:
    """Nothing to do until a fact changes: the slot is free, scope and milestone stay.

    Woken by whoever changes (kind, key), or `after` a while of the database's clock.
    """

    kind: WaitKind
    key: str
    after: timedelta | None = None
    message: str = ""
    version: int | None = None
    """Of the merge queue, as it was looked at: if it has changed since, there is nothing to wait for."""
    anew: bool = False
    """It goes on in a new run, by the rules that main has then."""
    question: str = ""
    """Only a person can end it: asked in the inbox, while the story keeps its place and is looked at again."""
    options: tuple[str, ...] = ()


@dataclass(frozen=True)
class NeedsPerson:
    """Only a person can answer: the item is blocked with a question. `event` tells of it, if not by the verdict."""

    verdict: Verdict | None
    question: str
    options: tuple[str, ...]
    feedback: VerdictFeedback
    event: EventKind | None = None


@dataclass(frozen=True)
class GivenBack:
    """The worker stops: the item is free again at once, nothing is charged."""

    reason: str = "the worker was stopped"


Outcome = Advance | Landed | Rejected | Transient | Wait | NeedsPerson | GivenBack
