"""`why` for a story that waits: for whom or what, what that one waits for, and who must act."""

from collections.abc import Callable
from datetime import datetime
from typing import assert_never

from damascus.domain.events import EventKind
from damascus.domain.ids import short
from damascus.domain.verdict import Phase
from damascus.domain.waits import ItemState, WaitKind
from damascus.store.db import Row
from damascus.store.views import WorkerRow
from damascus.store.why import Facts
from damascus.telling import asked
from damascus.telling.now import now
from damascus.telling.phrases import clock, in_parts, listed, one_line, plural, pull, worker

NOBODY = "Nobody needs to act."
MOST = 5
"""Stories of a chain that are told one by one."""


def at(facts: Facts, moment: datetime | None) -> str:
    return clock(moment, facts.row.read_at)


def step_of(facts: Facts) -> str:
    last = facts.last_step
    if last is None:
        return "at its beginning"
    when = clock(last["started_at"] if last["status"] == "intent" else last["done_at"], facts.row.read_at)
    return (
        f"in step {last['step']} since {when}" if last["status"] == "intent" else f"past step {last['step']} ({when})"
    )


def waiting(facts: Facts, alive: list[WorkerRow]) -> list[str]:
    said = _what_for(facts)(facts)
    return said if alive else [*said, "No worker runs, so nothing moves until you start one: damascus run"]


def _what_for(facts: Facts) -> Callable[[Facts], list[str]]:  # noqa: C901  one case a word
    kind = facts.row.wait_kind or WaitKind.DEPENDENCY  # ready, and what it depends on is not there yet
    if not isinstance(kind, WaitKind):
        return _for_something
    match kind:
        case WaitKind.SCOPE | WaitKind.BEHIND:
            return _for_files
        case WaitKind.DEPENDENCY:
            return _for_dependency
        case WaitKind.LANDING:
            return _for_landing
        case WaitKind.HOLD:
            return _for_hold
        case WaitKind.CHAIN:
            return _for_chain
        case WaitKind.UPSTREAM:
            return _for_upstream
        case WaitKind.REPO_FULL:
            return _for_place
        case WaitKind.BACKOFF:
            return _for_outage
        case WaitKind.DIRTY:
            return _for_clean_path
        case WaitKind.CI:
            return _for_ci
        case WaitKind.MIRROR:
            return _for_mirror
        case WaitKind.BUDGET:
            return _for_budget
        case WaitKind.AGENT:
            return _for_agents
        case WaitKind.SECRET:
            return _for_secret
        case _:
            assert_never(kind)


def _for_files(facts: Facts) -> list[str]:
    row, blocker = facts.row, facts.blocker
    begun = "has not been claimed" if row.claims == 0 else "can't go on"
    wants = listed(row.wanted)
    if blocker is None:
        return [
            f"{row.story_id} {begun}: it wants {wants}, and stories ahead of it want the same files.",
            f"{NOBODY} It is looked at again when the files are free.",
        ]
    until = "until you have decided about it" if blocker.row.phase == Phase.STALE else "until it is on main"
    said = [f"{row.story_id} {begun}: it wants {wants}, which {blocker.row.story_id} holds {until}."]
    if row.wait_kind == WaitKind.BEHIND:
        said.append("Another story that wants the same files is ahead of it.")
    return [*said, *_of_blocker(blocker), _then(blocker, "It is woken when the files are free.")]


def _for_dependency(facts: Facts) -> list[str]:
    row, blocker = facts.row, facts.blocker
    if blocker is None:
        return [f"{row.story_id} waits for a story it depends on. {NOBODY} It is woken when that one is on main."]
    said = [f"{row.story_id} has not been claimed: it depends on {blocker.row.story_id}, which is not on main yet."]
    return [*said, *_of_blocker(blocker), _then(blocker, f"It is woken when {blocker.row.story_id} is on main.")]


def _for_landing(facts: Facts) -> list[str]:
    row, blocker = facts.row, facts.blocker
    since = f"since {at(facts, row.updated_at)}"
    if blocker is None:
        return [
            f"{row.story_id} is built and has waited {since} for its turn to land. {NOBODY} Its turn comes by itself."
        ]
    said = [
        f"{row.story_id} is built and has waited {since} to land: {blocker.row.story_id} is ahead of it in the queue."
    ]
    return [*said, *_of_blocker(blocker), _then(blocker, f"It lands after {blocker.row.story_id}, by itself.")]


def _for_hold(facts: Facts) -> list[str]:
    row = facts.row
    hold = facts.holds[0] if facts.holds else None
    if hold is None:
        return [f"{row.story_id} waited for a hold that is over. {NOBODY} It is claimed again shortly."]
    since = at(facts, hold["created_at"])
    return [
        f"{row.story_id} waits: {_held(hold)} has been held since {since}: {one_line(hold['reason'])}.",
        f"You must fix that; then it goes on when you say: damascus release{_of_repo(hold)}",
    ]


def _held(hold: Row) -> str:
    return f"{hold['repo']}, a repository of its chain," if hold["elsewhere"] else "its repository"


def _of_repo(hold: Row) -> str:
    return f" {hold['repo']}" if hold["repo"] else ""


def _for_chain(facts: Facts) -> list[str]:
    row, blocker = facts.row, facts.blocker
    begun = "has not been claimed" if row.claims == 0 else "can't go on"
    if blocker is None:
        return [f"{row.story_id} {begun}: a story is worked in a repository of its chain. {NOBODY}"]
    return [
        f"{row.story_id} {begun}: {blocker.row.story_id} is worked in {blocker.repo['name']}, and of repositories that "
        f"need each other ({facts.repo['name']} is one) only one is worked at a time, roots first.",
        *_of_blocker(blocker),
        _then(blocker, f"It is woken when {blocker.row.story_id} is on main."),
    ]


def _for_upstream(facts: Facts) -> list[str]:
    row, repo = facts.row, facts.repo
    name = repo.get("upstream") or "a repository that it needs"
    if repo.get("red_since") is None:
        return [
            f"{row.story_id} waits until CI has judged {name}'s main, which {repo.get('name')} needs.",
            f"{NOBODY} It goes on when that main is green.",
        ]
    told = one_line(repo.get("ci_text") or "CI")
    return [
        f"{row.story_id} waits: main of {name}, which {repo['name']} needs, has been red at {short(repo['ci_sha'])} "
        f"since {at(facts, repo['red_since'])} ({told}).",
        f"Whoever broke {name} must repair it: damascus inbox. It goes on by itself when that main is green.",
    ]


def _for_place(facts: Facts) -> list[str]:
    row, repo = facts.row, facts.repo
    return [
        f"{row.story_id} has not been claimed: {plural(repo['max_workers'], 'story is', 'stories are')} worked in "
        f"{repo['name']} already, as many as [repo] max_workers allows.",
        f"{NOBODY} It is woken when one of them is on main.",
    ]


def _for_outage(facts: Facts) -> list[str]:
    row = facts.row
    times = f"{plural(row.series_count, 'time')} since {at(facts, row.series_since)}"
    return [
        f"{row.story_id} met trouble outside it, {times}: {one_line(row.wait_key)}.",
        f"{NOBODY} No try is counted. Tried again at {at(facts, row.not_before)}; after 24 h in a row you are asked.",
    ]


def _for_clean_path(facts: Facts) -> list[str]:
    row = facts.row
    return [
        f"{row.story_id} is proved and has waited since {at(facts, row.updated_at)}: main is checked out in your "
        f"folder and {one_line(row.wait_key)} has changes of yours that it would overwrite.",
        f"You must commit or stash that. Looked at again at {at(facts, row.not_before)}; then it lands by itself.",
    ]


def _for_ci(facts: Facts) -> list[str]:
    row = facts.row
    progress = row.progress or {}
    since = at(facts, row.updated_at)
    jobs = ""
    if "total_jobs" in progress:
        jobs = f" ({progress.get('jobs_passed', 0)} of {progress['total_jobs']} jobs green)"
    return [
        f"{row.story_id} has waited for CI of {short(row.wait_key)} on {pull(row.pr_url)} since {since}{jobs}.",
        f"{NOBODY} Looked at again at {at(facts, row.not_before)}, or when the forge calls.",
    ]


def _for_mirror(facts: Facts) -> list[str]:
    row, told = facts.row, facts.events.get(EventKind.ITEM_WAITS)
    what = one_line(told["body"].get("message", "")) if told else "the mirror job on main"
    return [
        f"{row.story_id} is on main and has waited since {at(facts, row.updated_at)} for {what} "
        f"({short(row.wait_key)}).",
        f"{NOBODY} Looked at again at {at(facts, row.not_before)}, or when the forge calls.",
    ]


def _for_budget(facts: Facts) -> list[str]:
    row, told = facts.row, facts.events.get(EventKind.ITEM_WAITS)
    why = one_line(told["body"].get("message", "")) if told else f"the project's budget {row.wait_key} is reserved"
    return [
        f"{row.story_id} has not sent its agent: {why}, and what is left is too little for one more.",
        f"{NOBODY} Looked at again at {at(facts, row.not_before)}; it goes on when one of them has used less.",
    ]


def _for_agents(facts: Facts) -> list[str]:
    row = facts.row
    return [
        f"{row.story_id} has waited since {at(facts, row.updated_at)}: no agent can work: {one_line(row.wait_key)}",
        "No try is counted. You must act, once for all stories: fix it, then damascus run, or answer: damascus inbox",
    ]


def _for_secret(facts: Facts) -> list[str]:
    row = facts.row
    return [
        f"{row.story_id} has not been begun since {at(facts, row.updated_at)}: its test contract names "
        f"{one_line(row.wait_key)}, which is not set where the worker runs.",
        "No try is counted. You must set it, then: damascus run. It goes on by itself in a worker that has it.",
    ]


def _for_something(facts: Facts) -> list[str]:
    row = facts.row
    again = f" Looked at again at {at(facts, row.not_before)}." if row.not_before else ""
    return [f"{row.story_id} waits for {row.wait_kind} {one_line(row.wait_key)}. {NOBODY}{again}"]


def _of_blocker(facts: Facts) -> list[str]:
    """What the story in the way does or waits for, and each one before it down to the first."""
    chain = [facts]
    while chain[-1].blocker is not None:
        chain.append(chain[-1].blocker)
    shown = chain if len(chain) <= MOST else [*chain[: MOST - 1], chain[-1]]
    said = [sentence for each in shown for sentence in _of_one(each)]
    if len(chain) > MOST:
        left = plural(len(chain) - MOST, "story waits", "stories wait")
        said.insert(MOST - 1, f"{left} for one another between these.")
    return said


def _of_one(facts: Facts) -> list[str]:
    row = facts.row
    match row.phase:
        case Phase.BLOCKED:
            issue = facts.open_issue
            asks = f"question {issue['id']}: {in_parts(issue['question'])[0]}" if issue else "no open question"
            return [f"{row.story_id} is blocked: {asks}"]
        case Phase.STALE:
            why = one_line((row.change or {}).get("why", "")).rstrip(".")
            return [f"{row.story_id} has been STALE since {at(facts, row.updated_at)}: {why}."]
        case Phase.CANCELLED | Phase.DONE:
            return [f"{row.story_id} has been {row.phase} since {at(facts, row.updated_at)}."]
    if row.state == ItemState.LEASED:
        return [f"{row.story_id} is {step_of(facts)}, with {worker(row.worker_id)}."]
    if row.state == ItemState.READY:
        return [f"{row.story_id} has been ready in phase {row.phase} since {at(facts, row.ready_at)}."]
    return _waiting_briefly(facts)


def _waiting_briefly(facts: Facts) -> list[str]:
    return [f"{facts.row.story_id}: {now(facts.row).rstrip('.')}, since {at(facts, facts.row.updated_at)}."]


def _by_answer(blocked: Facts) -> str:
    story, issue = blocked.row.story_id, blocked.open_issue
    if issue is None:
        return f"You must act on {story}: damascus retry {story}"
    return f"{'You' if issue['owner'] == 'you' else issue['owner']} must act on {story}: {asked.way(issue)}"


def _then(blocker: Facts, otherwise: str) -> str:
    """Who must act, seen through the stories in the way: on the first of them all."""
    first = blocker.root
    row = first.row
    match row.phase:
        case Phase.BLOCKED:
            return _by_answer(first)
        case Phase.CANCELLED:
            return f"You must act: add {row.story_id} again (damascus add SPEC), or replace or cancel this one."
        case Phase.STALE:
            return f"You must decide about it first: damascus approve {row.story_id} (damascus why {row.story_id})"
    if row.wait_kind == WaitKind.DIRTY:
        return f"You must commit or stash {one_line(row.wait_key)}; then {row.story_id} lands by itself."
    if row.wait_kind == WaitKind.HOLD:
        hold = first.holds[0] if first.holds else None
        return f"You must act: damascus release{_of_repo(hold) if hold else ''} (damascus why {row.story_id})"
    if row.wait_kind in (WaitKind.AGENT, WaitKind.SECRET):
        return f"You must act: damascus why {row.story_id}"
    return f"{NOBODY} {otherwise}"
