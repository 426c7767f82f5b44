"""`why`: durable facts become sentences: where it is, since when, what it waits for, who must act, what is next."""

from collections.abc import Callable
from typing import assert_never

from damascus.domain.events import EventKind
from damascus.domain.ids import short
from damascus.domain.recovery import ACCEPT_TESTS, LOOK_AGAIN
from damascus.domain.roles import AGENT_STEPS
from damascus.domain.verdict import Phase
from damascus.domain.waits import ItemState
from damascus.store.views import WorkerRow
from damascus.store.why import Facts
from damascus.telling import asked
from damascus.telling.phrases import between, clock, in_parts, one_line, plural, pull, whole_words, worker
from damascus.telling.waits import NOBODY, at, step_of, waiting


def paragraph(facts: Facts, alive: list[WorkerRow], dead: Callable[[str], bool]) -> list[str]:
    """Sentences in order; `alive` are the workers that live, `dead` tells of one that is proved gone."""
    row = facts.row
    match row.phase:
        case Phase.DONE:
            return _done(facts)
        case Phase.BLOCKED:
            return _blocked(facts)
        case Phase.CANCELLED:
            return _cancelled(facts)
        case Phase.STALE:
            return _stale(facts)
        case Phase.SPEC | Phase.BUILD | Phase.REVIEW | Phase.MERGE:
            if row.state == ItemState.LEASED:
                return _leased(facts, dead)
            waits = row.state == ItemState.WAITING or facts.blocker
            return waiting(facts, alive) if waits else _ready(facts, alive)
        case _:
            assert_never(row.phase)


# ── at rest ───────────────────────────────────────────────────────────────────────────────────────────


def _done(facts: Facts) -> list[str]:
    row, landed = facts.row, facts.events.get(EventKind.STORY_LANDED)
    when = clock(landed["created_at"] if landed else row.updated_at, row.read_at)
    proof = one_line(landed["body"].get("proof", "")) if landed else ""
    said = [f"{row.story_id} is done: on main as {short(row.merged_commit)} ({pull(row.pr_url)}) since {when}."]
    said += [f"Proof: {proof}."] if proof else []
    for kind, words in (
        (EventKind.STORY_NOT_ON_MAIN, "was found to be no longer on main"),
        (EventKind.STORY_REVERTED, "was reverted"),
    ):
        alarm = facts.events.get(kind)
        if alarm and (landed is None or alarm["created_at"] > landed["created_at"]):
            said.append(f"Alarm: it {words} at {clock(alarm['created_at'], row.read_at)}. You must look at main.")
            return said
    return [*said, f"{NOBODY} The evidence: damascus receipt {row.story_id}"]


def _blocked(facts: Facts) -> list[str]:
    row, issue = facts.row, facts.open_issue
    since = clock(issue["created_at"] if issue else row.updated_at, row.read_at)
    said = [
        f"{row.story_id} has been blocked since {since}, after {plural(row.attempts, 'counted try', 'counted tries')}."
    ]
    if issue is None:
        return [*said, f"No question is open. You must act: damascus retry {row.story_id}, or cancel it."]
    said.append(f"Question {issue['id']}: {in_parts(issue['question'])[0]}")
    if asked.corrects(issue):
        said.append(f"You have answered: {one_line(issue['answer'])}. {_must(issue['owner'])} {asked.in_words(issue)}")
        return [*said, "Then it is built by that spec; until then nothing happens."]
    said += [" ".join(f"[{n}] {option}" for n, option in enumerate(issue["options"], 1))] if issue["options"] else []
    said.append(f"{_must(issue['owner'])} {asked.in_words(issue)}")
    same = issue["options"][:1] in ([LOOK_AGAIN], [ACCEPT_TESTS])
    how = "where it was, and no agent is sent" if same else "with a new budget"
    return [*said, f"Then it goes on in phase {row.resume_phase} {how}; until then nothing happens."]


def _must(owner: str) -> str:
    return "You must" if owner == "you" else f"{owner} must"


def _cancelled(facts: Facts) -> list[str]:
    row, event = facts.row, facts.events.get(EventKind.STORY_CANCELLED)
    when = clock(event["created_at"] if event else row.updated_at, row.read_at)
    return [
        f"{row.story_id} was cancelled by a person at {when}.",
        f"{NOBODY} To take it up again: damascus add SPEC; what an agent wrote: damascus rescue list {row.story_id}",
    ]


def _stale(facts: Facts) -> list[str]:
    row, change = facts.row, facts.row.change or {}
    what = "its tests fail on main" if change.get("regression") else "what it was built from has changed"
    by = f" ({one_line(change['by'])})" if change.get("by") else ""
    return [
        f"{row.story_id} has been STALE since {clock(row.updated_at, row.read_at)}: {what}: "
        f"{one_line(change.get('why', '')).rstrip('.')}{by}.",
        f"It is on main as {short(row.merged_commit)}: damascus diff {row.story_id}.",
        f"You must decide, it is never built anew without your word: damascus approve {row.story_id}, or take the "
        f"change back: damascus change --undo {row.story_id}",
        "Until then who depends on it or wants its files waits.",
    ]


# ── at work ───────────────────────────────────────────────────────────────────────────────────────────


def _leased(facts: Facts, dead: Callable[[str], bool]) -> list[str]:
    row = facts.row
    who = worker(row.worker_id)
    said = [
        f"{row.story_id} is in phase {row.phase}, {step_of(facts)}; {who} has had it since {at(facts, row.leased_at)}."
    ]
    said += [f"Its worker reports: {one_line(row.line)}."] if row.line else []
    said += _last_try(facts) + _time_left(facts)
    if row.worker_id and dead(row.worker_id):
        return [*said, f"That worker is gone. {NOBODY} Any running worker takes it over at once, and no try is lost."]
    if row.lease_expired:
        ran_out = between(row.lease_expires_at, row.read_at)
        return [*said, f"Its lease ran out {ran_out} ago. {NOBODY} It is renewed, or another worker takes it over."]
    return [*said, f"{NOBODY} If the worker dies, another takes over after {at(facts, row.lease_expires_at)}."]


def _time_left(facts: Facts) -> list[str]:
    """The last warning or extension of the agent that runs now."""
    row = facts.row
    told = [facts.events[kind] for kind in (EventKind.AGENT_WARNED, EventKind.AGENT_EXTENDED) if kind in facts.events]
    last = max(told, key=lambda event: event["created_at"], default=None)
    if last is None or row.step not in AGENT_STEPS or last["created_at"] < (row.leased_at or row.read_at):
        return []
    what = f"got {last['body']['seconds']} s more" if "seconds" in last["body"] else "was warned"
    return [f"Its agent {what} at {at(facts, last['created_at'])}: {one_line(last['body']['message'])}."]


def _last_try(facts: Facts) -> list[str]:
    row = facts.row
    if not (row.attempts and row.last_verdict):
        return []
    message = whole_words(one_line((row.last_feedback or {}).get("message", "")), 300)
    told = f": {message}" if message else ""
    return [f"Its last try ({row.attempts} of {row.budget_cycles}) came to {row.last_verdict}{told.rstrip('.')}."]


# ── ready ─────────────────────────────────────────────────────────────────────────────────────────────


def _ready(facts: Facts, alive: list[WorkerRow]) -> list[str]:
    row = facts.row
    begun = "has not been claimed" if row.claims == 0 else "may go on and has not been claimed again"
    said = [f"{row.story_id} has been ready in phase {row.phase} since {at(facts, row.ready_at)} and {begun}."]
    said += _last_try(facts) + _rescued(facts)
    if facts.ahead:
        said.append(f"{plural(facts.ahead, 'story is', 'stories are')} ahead of it.")
    if not alive:
        return [*said, "No worker runs. You must start one: damascus run"]
    slots = sum(w.slots for w in alive)
    if sum(w.busy for w in alive) >= slots:
        return [*said, f"{_busy(slots)} {NOBODY} It is taken when one is free."]
    return [*said, f"{NOBODY} A slot is free: it is taken within seconds."]


def _busy(slots: int) -> str:
    return "The only slot is busy." if slots == 1 else f"All {slots} slots are busy."


def _rescued(facts: Facts) -> list[str]:
    event, row = facts.events.get(EventKind.ITEM_RESCUED), facts.row
    if not row.rescues or event is None:
        return []
    return [f"It was taken from a worker that is gone at {clock(event['created_at'], row.read_at)}; no try was lost."]
