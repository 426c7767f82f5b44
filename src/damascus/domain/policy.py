"""What an outcome means for an item: attempts, budget, loop-breaker, transient series, back-off.

Pure: no clock, no database, no surprise. `engine/lifecycle.settle` writes what this says, and nothing else
writes an item's phase. docs/VERIFICATION.md tells the same rules to users.
"""

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import assert_never

from damascus.domain.events import BLOCKED_BY, Event, EventKind
from damascus.domain.feedback import VerdictFeedback
from damascus.domain.item import Item
from damascus.domain.outcome import (
    Advance,
    GivenBack,
    Landed,
    NeedsPerson,
    Outcome,
    Rejected,
    Transient,
    Wait,
)
from damascus.domain.recovery import EQUIVALENT, SOME_EQUIVALENT
from damascus.domain.survivors import question_start
from damascus.domain.verdict import Phase, Verdict
from damascus.domain.waits import IN_QUEUE, ItemState, WaitKind

SERIES_LIMIT = timedelta(hours=24)
BACKOFF_FIRST = timedelta(seconds=1)
BACKOFF_MOST = timedelta(minutes=5)
LOOP_LIMIT = 3
RESCUE_LIMIT = 12
SHOWN_OF_DIFF = 600
RETRY_OPTIONS = ("retry with a new budget", "edit the spec and add it again", "cancel the story")


@dataclass(frozen=True)
class Question:
    """A human issue to open with the transition."""

    question: str
    options: tuple[str, ...] = RETRY_OPTIONS
    owner: str = "you"


@dataclass(frozen=True)
class Transition:
    """Everything that settle writes. `state` is never leased: that is the claim's to say."""

    phase: Phase
    state: ItemState
    events: tuple[Event, ...] = ()
    attempts: int = 0
    verdict: Verdict | None = None
    feedback: VerdictFeedback | None = None
    failure_signature: str | None = None
    failure_streak: int = 0
    series_since: datetime | None = None
    series_count: int = 0
    series_ended: bool = False
    wait_kind: WaitKind | None = None
    wait_key: str | None = None
    not_before: datetime | None = None
    resume_phase: Phase | None = None
    question: Question | None = None
    new_run: bool = False
    keep_place: bool = False
    frees_scope: bool = False
    ends_record: bool = False
    facts: dict[str, object] = field(default_factory=dict)


def backoff(count: int) -> timedelta:
    """1 s doubling to 5 min; `count` is the number of failures in the series so far."""
    return min(BACKOFF_FIRST * (1 << min(count - 1, 20)), BACKOFF_MOST)


def needs_clock(outcome: Outcome) -> bool:
    return isinstance(outcome, Transient) or (isinstance(outcome, Wait) and outcome.after is not None)


def decide(item: Item, outcome: Outcome, now: datetime) -> Transition:
    """The one place where an outcome becomes a transition."""
    match outcome:
        case Advance():
            return _advance(item, outcome)
        case Landed():
            return _landed(item, outcome)
        case Rejected():
            return _rejected(item, outcome)
        case Transient():
            return _transient(item, outcome, now)
        case Wait():
            return _waits(item, outcome, now)
        case NeedsPerson():
            return _asks(item, outcome)
        case GivenBack():
            released: Event = (EventKind.ITEM_RELEASED, {"reason": outcome.reason})
            return _kept(item, events=(released,), keep_place=item.phase == Phase.MERGE)
        case _:
            assert_never(outcome)


def _moved(item: Item, to: Phase, **more: object) -> Event:
    return (EventKind.PHASE_TRANSITIONED, {"from": item.phase.value, "to": to.value, **more})


def _kept(item: Item, **more: object) -> Transition:
    """Same phase, same run, nothing charged: what every transition starts from."""
    kept: dict[str, object] = {
        "phase": item.phase,
        "state": ItemState.READY,
        "attempts": item.attempts,
        "verdict": item.last_verdict,
        "feedback": item.last_feedback,
        "failure_signature": item.failure_signature,
        "failure_streak": item.failure_streak,
        "series_since": item.series_since,
        "series_count": item.series_count,
        "series_ended": item.series_ended,
    }
    return Transition(**kept | more)  # type: ignore[arg-type]


SERIES_OVER: dict[str, object] = {"series_since": None, "series_count": 0, "series_ended": True}


def _advance(item: Item, outcome: Advance) -> Transition:
    """Success ends a series; attempts, the last verdict and the streak of failures stay (D12, T5)."""
    return _kept(
        item,
        phase=outcome.to,
        events=(_moved(item, outcome.to),),
        new_run=True,
        keep_place=outcome.to in (Phase.REVIEW, Phase.MERGE),
        facts=outcome.facts,
        **SERIES_OVER,
    )


def _landed(item: Item, outcome: Landed) -> Transition:
    told: Event = (EventKind.STORY_LANDED, {"commit": outcome.merged_commit, "proof": outcome.proof})
    return _kept(
        item,
        phase=Phase.DONE,
        state=ItemState.RESTING,
        events=(_moved(item, Phase.DONE), told),
        verdict=Verdict.PASSED,
        feedback=VerdictFeedback(files_changed=list(outcome.files_changed)),
        failure_signature=None,
        failure_streak=0,
        frees_scope=True,
        facts={**outcome.facts, "merged_commit": outcome.merged_commit},
        **SERIES_OVER,
    )


def _rejected(item: Item, outcome: Rejected) -> Transition:
    attempts = item.attempts + 1
    signature = outcome.feedback.signature(outcome.verdict)
    streak = item.failure_streak + 1 if signature == item.failure_signature else 1
    charged: dict[str, object] = {
        "attempts": attempts,
        "verdict": outcome.verdict,
        "feedback": outcome.feedback,
        "failure_signature": signature,
        "failure_streak": streak,
        **SERIES_OVER,
    }
    event: Event = (
        EventKind.ATTEMPT_REJECTED,
        {"verdict": outcome.verdict.value, "attempt": attempts, "message": outcome.feedback.message},
    )
    if attempts >= item.budget_cycles:
        why = f"{item.story_id} is blocked after {attempts} of {item.budget_cycles} tries, the last {outcome.verdict}"
        stop: Event = (EventKind.BLOCKED_EXHAUSTED, {"attempts": attempts, "verdict": outcome.verdict.value})
    elif streak >= LOOP_LIMIT:
        why = f"{item.story_id} failed {streak} times in a row in the same way: {outcome.verdict}"
        stop = (EventKind.BLOCKED_LOOP, {"streak": streak, "verdict": outcome.verdict.value})
    else:
        return _rework(item, event, charged)
    question = _what_now(f"{why}: {outcome.feedback.message.rstrip('. ')}. What should happen?", outcome.feedback)
    resume = Phase.SPEC if item.phase == Phase.SPEC else Phase.BUILD
    return _blocked(item, (event, stop), question, resume, **charged)


def _what_now(text: str, feedback: VerdictFeedback) -> Question:
    """Of mutants that live, a person may say that nobody could notice them, or some of them."""
    if not feedback.survivors:
        return Question(text)
    numbered = enumerate(feedback.survivors, start=1)
    shown = "\n".join(f"{number}. {one.told}\n{one.diff[:SHOWN_OF_DIFF]}" for number, one in numbered)
    some = (SOME_EQUIVALENT,) if len(feedback.survivors) > 1 else ()
    return Question(f"{question_start(feedback.survivors)}{text}\n{shown}", (*RETRY_OPTIONS, EQUIVALENT, *some))


def _rework(item: Item, event: Event, charged: dict[str, object]) -> Transition:
    """The next attempt; from review and merge it goes back to build, with a new worker record."""
    back = item.phase in (Phase.REVIEW, Phase.MERGE)
    phase = Phase.BUILD if back else item.phase
    events = (event, _moved(item, phase, why="rework")) if back else (event,)
    return _kept(item, phase=phase, events=events, new_run=True, ends_record=back, **charged)


def _blocked(item: Item, events: tuple[Event, ...], question: Question, resume: Phase, **more: object) -> Transition:
    return _kept(
        item,
        phase=Phase.BLOCKED,
        state=ItemState.RESTING,
        events=(*events, _moved(item, Phase.BLOCKED)),
        resume_phase=resume,
        question=question,
        frees_scope=True,
        **more,
    )


def _transient(item: Item, outcome: Transient, now: datetime) -> Transition:
    since = item.series_since or (now if item.series_ended else item.first_attempted_at or now)
    count = item.series_count + 1
    if now - since > SERIES_LIMIT:
        trouble = outcome.reason.rstrip(". ")
        question = Question(f"{item.story_id} has met trouble outside it for over 24 h: {trouble}. What should happen?")
        return _blocked(item, ((EventKind.BLOCKED_TRANSIENT, {"reason": outcome.reason}),), question, item.phase)
    wake = max(now + backoff(count), _over(outcome, now, since))
    told: dict[str, object] = {"reason": outcome.reason, "count": count, "not_before": wake.isoformat()}
    return _kept(
        item,
        state=ItemState.WAITING,
        events=((EventKind.PHASE_TRANSIENT_RETRY, told),),
        series_since=since,
        series_count=count,
        wait_kind=WaitKind.BACKOFF,
        wait_key=_whole_words(outcome.reason),
        not_before=wake,
        keep_place=item.phase == Phase.MERGE,
        feedback=_marked_transient(item, outcome.reason),
    )


def _whole_words(reason: str, most: int = 200) -> str:
    """What people are told is never cut within a word, and says that it was cut."""
    kept = reason[: most - 1]
    return reason if len(reason) <= most else (kept.rpartition(" ")[0] or kept).rstrip(" ,;:") + "…"


def _over(outcome: Transient, now: datetime, since: datetime) -> datetime:
    """When the trouble is said to be over; a series longer than 24 h is a person's affair all the same."""
    return min(now + outcome.wait, since + SERIES_LIMIT) if outcome.wait is not None else now


def _marked_transient(item: Item, reason: str) -> VerdictFeedback:
    """A transient failure must not wipe what the last attempt said: the agent still needs it."""
    if item.last_feedback is None:
        return VerdictFeedback(transient=True, message=reason)
    return item.last_feedback.model_copy(update={"transient": True})


def _waits(item: Item, outcome: Wait, now: datetime) -> Transition:
    event: Event = (EventKind.ITEM_WAITS, {"kind": outcome.kind, "key": outcome.key, "message": outcome.message})
    wake = now + outcome.after if outcome.after is not None else None
    return _kept(
        item,
        state=ItemState.WAITING,
        events=(event,),
        wait_kind=outcome.kind,
        wait_key=outcome.key,
        not_before=wake,
        keep_place=outcome.kind in IN_QUEUE,
        new_run=outcome.anew,
        facts={"queue_version": outcome.version},
        question=Question(outcome.question, outcome.options) if outcome.question else None,
    )


def _asks(item: Item, outcome: NeedsPerson) -> Transition:
    """On the answer the same phase goes on; review and merge keep the candidate, judged anew if main moved."""
    kind = outcome.event or BLOCKED_BY.get(outcome.verdict, EventKind.BLOCKED_QUESTION)
    events: tuple[Event, ...] = ((kind, {"question": outcome.question}),)
    if outcome.feedback.halt is not None:
        told: dict[str, object] = {
            "reason": outcome.feedback.halt.value,
            "story": item.story_id,
            "message": outcome.feedback.message,
        }
        events += ((EventKind.BUILDER_HALTED, told),)
    question = Question(outcome.question, outcome.options)
    verdict = outcome.verdict or item.last_verdict
    return _blocked(item, events, question, item.phase, verdict=verdict, feedback=outcome.feedback)
