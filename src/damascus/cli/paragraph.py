"""`why`: durable facts become sentences: where it is, since when, what it waits for, who must act, what is next."""

from collections.abc import Callable
from datetime import datetime

from damascus.cli.now import now
from damascus.cli.words import between, clock, listed, one_line, plural, pull, worker
from damascus.domain.ids import short
from damascus.store.views import Worker
from damascus.store.why import Facts

NOBODY = "Nobody needs to act."


def paragraph(facts: Facts, alive: list[Worker], dead: Callable[[str], bool]) -> list[str]:
    """Sentences in order; `alive` are the workers that live, `dead` tells of one that is proved gone."""
    row = facts.row
    match row.phase:
        case "done":
            return _done(facts)
        case "blocked":
            return _blocked(facts)
        case "cancelled":
            return _cancelled(facts)
        case "stale":
            return _stale(facts)
    if row.state == "leased":
        return _leased(facts, dead)
    return _waiting(facts, alive) if row.state == "waiting" else _ready(facts, alive)


# ── at rest ───────────────────────────────────────────────────────────────────────────────────────────


def _done(facts: Facts) -> list[str]:
    row, landed = facts.row, facts.events.get("story.landed")
    at = clock(landed["created_at"] if landed else row.updated_at, row.read_at)
    proof = one_line(landed["body"].get("proof", "")) if landed else ""
    said = [f"{row.story_id} is done: on main as {short(row.merged_commit)} ({pull(row.pr_url)}) since {at}."]
    said += [f"Proof: {proof}."] if proof else []
    for kind, words in (("story.not_on_main", "was found to be no longer on main"), ("story.reverted", "was reverted")):
        alarm = facts.events.get(kind)
        if alarm and (landed is None or alarm["created_at"] > landed["created_at"]):
            said.append(f"Alarm: it {words} at {clock(alarm['created_at'], row.read_at)}. You must look at main.")
            return said
    return [*said, f"{NOBODY} The evidence: damascus receipt {row.story_id}"]


def _blocked(facts: Facts) -> list[str]:
    row, issue = facts.row, facts.open_issue
    since = clock(issue["created_at"] if issue else row.updated_at, row.read_at)
    said = [f"{row.story_id} is blocked since {since}, after {plural(row.attempts, 'counted try', 'counted tries')}."]
    if issue is None:
        return [*said, f"No question is open. You must act: damascus retry {row.story_id}, or cancel it."]
    said.append(f"Question {issue['id']}: {one_line(issue['question'])}")
    said += [" ".join(f"[{n}] {option}" for n, option in enumerate(issue["options"], 1))] if issue["options"] else []
    said.append(f"{_must(issue['owner'])} answer: damascus answer {issue['id']} {'1' if issue['options'] else 'TEXT'}")
    return [*said, f"Then it goes on in phase {row.resume_phase} with a new budget; until then nothing happens."]


def _must(owner: str) -> str:
    return "You must" if owner == "you" else f"{owner} must"


def _cancelled(facts: Facts) -> list[str]:
    row, event = facts.row, facts.events.get("story.cancelled")
    at = clock(event["created_at"] if event else row.updated_at, row.read_at)
    return [
        f"{row.story_id} was cancelled by a person at {at}.",
        f"{NOBODY} To take it up again: damascus add SPEC; what an agent wrote: damascus rescue list {row.story_id}",
    ]


def _stale(facts: Facts) -> list[str]:
    row = facts.row
    return [
        f"{row.story_id} is stale since {clock(row.updated_at, row.read_at)}: what it was built from has changed.",
        "You must decide: it is never run again without a person's word.",
    ]


# ── at work ───────────────────────────────────────────────────────────────────────────────────────────


def _leased(facts: Facts, dead: Callable[[str], bool]) -> list[str]:
    row = facts.row
    who = worker(row.worker_id)
    said = [f"{row.story_id} is in phase {row.phase}, {_step(facts)}; {who} has it since {_at(facts, row.leased_at)}."]
    said += [f"Its worker reports: {one_line(row.line)}."] if row.line else []
    said += _last_try(facts)
    if row.worker_id and dead(row.worker_id):
        return [*said, f"That worker is gone. {NOBODY} Any running worker takes it over at once, no try is burnt."]
    if row.lease_expired:
        ran_out = between(row.lease_expires_at, row.read_at)
        return [*said, f"Its lease ran out {ran_out} ago. {NOBODY} It is renewed, or another worker takes it over."]
    return [*said, f"{NOBODY} If the worker dies, another takes over after {_at(facts, row.lease_expires_at)}."]


def _step(facts: Facts) -> str:
    last = facts.last_step
    if last is None:
        return "at its beginning"
    at = clock(last["started_at"] if last["status"] == "intent" else last["done_at"], facts.row.read_at)
    return f"in step {last['step']} since {at}" if last["status"] == "intent" else f"past step {last['step']} ({at})"


def _at(facts: Facts, moment: datetime | None) -> str:
    return clock(moment, facts.row.read_at)


def _last_try(facts: Facts) -> list[str]:
    row = facts.row
    if not (row.attempts and row.last_verdict):
        return []
    message = one_line((row.last_feedback or {}).get("message", ""))[:300]
    told = f": {message}" if message else ""
    return [f"Its last try ({row.attempts} of {row.budget_cycles}) came to {row.last_verdict}{told.rstrip('.')}."]


# ── ready ─────────────────────────────────────────────────────────────────────────────────────────────


def _ready(facts: Facts, alive: list[Worker]) -> list[str]:
    row = facts.row
    begun = "has not been claimed" if row.claims == 0 else "may go on and has not been claimed again"
    said = [f"{row.story_id} is ready in phase {row.phase} since {_at(facts, row.ready_at)} and {begun}."]
    said += _last_try(facts) + _rescued(facts)
    open_ones = [f"{d['story_id']} ({d['phase']})" for d in facts.dependencies if d["phase"] != "done"]
    said += [f"It depends on {listed(open_ones)}."] if open_ones else []
    if facts.ahead:
        said.append(f"{plural(facts.ahead, 'story is', 'stories are')} before it in line.")
    if not alive:
        return [*said, "No worker runs. You must start one: damascus run"]
    slots = sum(w.slots for w in alive)
    if sum(w.busy for w in alive) >= slots:
        return [*said, f"{_busy(slots)} {NOBODY} It is taken when one is free."]
    return [*said, f"{NOBODY} A slot is free, it is taken within seconds."]


def _busy(slots: int) -> str:
    return "The only slot is busy." if slots == 1 else f"All {slots} slots are busy."


def _rescued(facts: Facts) -> list[str]:
    event, row = facts.events.get("item.rescued"), facts.row
    if not row.rescues or event is None:
        return []
    return [f"It was taken from a worker that is gone at {clock(event['created_at'], row.read_at)}; no try was burnt."]


# ── waiting ───────────────────────────────────────────────────────────────────────────────────────────


def _waiting(facts: Facts, alive: list[Worker]) -> list[str]:
    kinds: dict[str, Callable[[Facts], list[str]]] = {
        "scope": _for_files,
        "behind": _for_files,
        "dependency": _for_dependency,
        "landing": _for_landing,
        "hold": _for_hold,
        "backoff": _for_outage,
        "dirty": _for_clean_path,
        "ci": _for_ci,
    }
    tell = kinds.get(facts.row.wait_kind or "", _for_something)
    said = tell(facts)
    return said if alive else [*said, "No worker runs, so nothing moves until you start one: damascus run"]


def _for_files(facts: Facts) -> list[str]:
    row, blocker = facts.row, facts.blocker
    begun = "has not been claimed" if row.claims == 0 else "can't go on"
    wants = listed(row.file_scope)
    if blocker is None:
        return [
            f"{row.story_id} {begun}: it wants {wants}, and stories before it in line want the same files.",
            f"{NOBODY} It is looked at again when the files are free.",
        ]
    said = [f"{row.story_id} {begun}: it wants {wants}, which {blocker.row.story_id} holds until it is on main."]
    if row.wait_kind == "behind":
        said.append("Another story that wants the same files is before it in line.")
    return [*said, *_of_blocker(blocker), _then(blocker, "It is woken when the files are free.")]


def _for_dependency(facts: Facts) -> list[str]:
    row, blocker = facts.row, facts.blocker
    if blocker is None:
        return [f"{row.story_id} waits for a story it depends on. {NOBODY} It is woken when that one is on main."]
    said = [f"{row.story_id} has not been claimed: it depends on {blocker.row.story_id}, which is not on main yet."]
    return [*said, *_of_blocker(blocker), _then(blocker, f"It is woken when {blocker.row.story_id} is on main.")]


def _for_landing(facts: Facts) -> list[str]:
    row, blocker = facts.row, facts.blocker
    since = f"since {_at(facts, row.updated_at)}"
    if blocker is None:
        return [f"{row.story_id} is built and waits {since} for its turn to land. {NOBODY} Its turn comes by itself."]
    said = [f"{row.story_id} is built and waits {since} to land: {blocker.row.story_id} is landing, one at a time."]
    return [*said, *_of_blocker(blocker), _then(blocker, f"It lands after {blocker.row.story_id}, by itself.")]


def _for_hold(facts: Facts) -> list[str]:
    row = facts.row
    hold = facts.holds[0] if facts.holds else None
    if hold is None:
        return [f"{row.story_id} waited for a hold that is over. {NOBODY} It is claimed again shortly."]
    since = _at(facts, hold["created_at"])
    return [
        f"{row.story_id} waits: its repository is held since {since}: {one_line(hold['reason'])}.",
        "You must cure that; then the hold is released and it goes on by itself.",
    ]


def _for_outage(facts: Facts) -> list[str]:
    row = facts.row
    times = f"{plural(row.series_count, 'time')} since {_at(facts, row.series_since)}"
    return [
        f"{row.story_id} met trouble outside it, {times}: {one_line(row.wait_key)}.",
        f"{NOBODY} No try is counted. Tried again at {_at(facts, row.not_before)}; after 24 h in a row you are asked.",
    ]


def _for_clean_path(facts: Facts) -> list[str]:
    row = facts.row
    return [
        f"{row.story_id} is proved and waits since {_at(facts, row.updated_at)}: main is checked out in your folder "
        f"and {one_line(row.wait_key)} has changes of yours that it would overwrite.",
        f"You must commit or stash that. Looked at again at {_at(facts, row.not_before)}; then it lands by itself.",
    ]


def _for_ci(facts: Facts) -> list[str]:
    row = facts.row
    progress = row.progress or {}
    since = _at(facts, row.updated_at)
    jobs = ""
    if "total_jobs" in progress:
        jobs = f" ({progress.get('jobs_passed', 0)} of {progress['total_jobs']} jobs green)"
    return [
        f"{row.story_id} waits for CI of {short(row.wait_key)} on {pull(row.pr_url)} since {since}{jobs}.",
        f"{NOBODY} Looked at again at {_at(facts, row.not_before)}, or when the forge calls.",
    ]


def _for_something(facts: Facts) -> list[str]:
    row = facts.row
    again = f" Looked at again at {_at(facts, row.not_before)}." if row.not_before else ""
    return [f"{row.story_id} waits for {row.wait_kind} {one_line(row.wait_key)}. {NOBODY}{again}"]


def _of_blocker(facts: Facts) -> list[str]:
    """One level further: what the story in the way does or waits for."""
    row = facts.row
    match row.phase:
        case "blocked":
            issue = facts.open_issue
            asks = f"question {issue['id']}: {one_line(issue['question'])}" if issue else "no open question"
            return [f"{row.story_id} is blocked: {asks}"]
        case "cancelled" | "stale" | "done":
            return [f"{row.story_id} is {row.phase} since {_at(facts, row.updated_at)}."]
    if row.state == "leased":
        return [f"{row.story_id} is {_step(facts)}, with {worker(row.worker_id)}."]
    if row.state == "ready":
        return [f"{row.story_id} is ready in phase {row.phase} since {_at(facts, row.ready_at)}."]
    return _waiting_briefly(facts)


def _waiting_briefly(facts: Facts) -> list[str]:
    return [f"{facts.row.story_id}: {now(facts.row)}, since {_at(facts, facts.row.updated_at)}."]


def _then(blocker: Facts, otherwise: str) -> str:
    """Who must act, seen through the story in the way."""
    row = blocker.row
    match row.phase:
        case "blocked":
            issue = blocker.open_issue
            way = f"damascus answer {issue['id']} …" if issue else f"damascus retry {row.story_id}"
            return f"You must act on {row.story_id}: {way}"
        case "cancelled":
            return f"You must act: add {row.story_id} again (damascus add SPEC), or replace or cancel this one."
        case "stale":
            return f"You must decide about {row.story_id} first."
    if row.wait_kind in ("dirty", "hold"):
        return f"You must act: damascus why {row.story_id}"
    return f"{NOBODY} {otherwise}"
