"""The words of one line of `status`: what a story does now, its try, since when."""

import re
from typing import assert_never

from damascus.domain.ids import short
from damascus.domain.verdict import Phase
from damascus.domain.waits import ItemState, WaitKind
from damascus.store.views import ProjectView, StoryRow
from damascus.telling.phrases import between, duration, listed, one_line, pull

LOOKS_AT_CI = ("ci", "ci_since", "ci_begun")


def tries(row: StoryRow) -> str:
    """Which try this is, of how many; a story that nobody began has none."""
    n = row.tries
    if n == 0:
        return "–"
    return str(n) if row.phase == Phase.DONE else f"{min(n, row.budget_cycles)}/{row.budget_cycles}"


def since(row: StoryRow) -> str:
    if row.state == ItemState.LEASED:
        return between(row.leased_at, row.read_at)
    if row.claims == 0 and row.active:
        return "–"
    return between(row.updated_at, row.read_at)


def elapsed(row: StoryRow) -> str:
    """From the first claim to the end, or until now."""
    if row.first_attempted_at is None:
        return "–"
    return between(row.first_attempted_at, row.read_at if row.active else row.updated_at)


def wordings(row: StoryRow) -> list[str]:
    """What it does now, in ever fewer words; the last of them still says what a person must do."""
    whole = now(row)
    match row.phase:
        case Phase.BLOCKED:
            act = whole.removeprefix("needs you: damascus ")
            return [whole, f"needs you: {act}", act, *([f"why {row.story_id}"] if row.edits else [])]
        case Phase.DONE if not row.off_main:
            return [whole, whole.partition(",")[0], whole.partition(",")[0].removeprefix("on main as ")]
        case Phase.DONE:
            return [whole, "NOT on main any more", "NOT on main"]
        case Phase.STALE:
            return [whole, f"needs you: approve {row.story_id}", f"approve {row.story_id}"]
    found = [whole]
    if (less := re.sub(r" \([^()]*\)$", "", whole)) != whole:
        found.append(less)
    if row.blocker and not row.lease_expired and row.state != ItemState.LEASED:
        found.append(f"waits for {row.blocker}")
    elif (less := re.split("[,:;] ", found[-1])[0]) not in found and row.wait_kind != WaitKind.DIRTY:
        found.append(less)
    return found


def now(row: StoryRow) -> str:
    match row.phase:
        case Phase.DONE if row.off_main:
            return f"NOT on main any more (landed as {short(row.merged_commit)}, {pull(row.pr_url)})"
        case Phase.DONE:
            return f"on main as {short(row.merged_commit)}, {pull(row.pr_url)}"
        case Phase.BLOCKED:
            if row.edits:
                return f"needs you: damascus {row.edits}"
            return f"needs you: damascus answer {row.issue}" if row.issue else f"needs you: damascus why {row.story_id}"
        case Phase.CANCELLED:
            return "cancelled"
        case Phase.STALE:
            what = "its tests fail on main" if (row.change or {}).get("regression") else "it has changed"
            return f"needs you: damascus approve {row.story_id} ({what})"
        case Phase.SPEC | Phase.BUILD | Phase.REVIEW | Phase.MERGE:
            return _under_way(row)
        case _:
            assert_never(row.phase)


def _under_way(row: StoryRow) -> str:
    match row.state:
        case ItemState.LEASED:
            return _working(row)
        case ItemState.WAITING:
            return _waits(row)
        case ItemState.READY | ItemState.RESTING:
            return _ready(row)
        case _:
            assert_never(row.state)


def _working(row: StoryRow) -> str:
    if row.lease_expired:
        return f"no sign of its worker for {between(row.lease_expires_at, row.read_at)}; will be taken over"
    return ci(row) if step(row) == "ci" else f"{step(row)}{_last_try(row)}"


def step(row: StoryRow) -> str:
    """Before its first step a run's record names the phase, which is no step."""
    known = "ci" if row.step in LOOKS_AT_CI else row.step
    return known if known and known != row.phase else "begins"


def ci(row: StoryRow) -> str:
    """The same while CI is looked at and between two looks."""
    return f"CI{_jobs(row)}, {pull(row.pr_url)}"


def _last_try(row: StoryRow) -> str:
    return f" (last try: {row.last_verdict})" if row.attempts and row.last_verdict else ""


def _ready(row: StoryRow) -> str:
    if row.blocker:
        return f"waits for {row.blocker}" + (f", which is {row.blocker_phase}" if _dead_end(row) else " to land")
    if row.claims == 0:
        return "ready"
    return f"ready for the next try ({row.last_verdict})" if row.last_verdict and row.attempts else "ready to go on"


def _waits(row: StoryRow) -> str:  # noqa: C901  one case a word
    if not isinstance(row.wait_kind, WaitKind):
        return f"waits for {row.wait_kind} {row.wait_key}"
    who = row.blocker or "another story"
    match row.wait_kind:
        case WaitKind.SCOPE | WaitKind.BEHIND:
            return f"waits for the files of {who} ({listed(row.wanted, 1)})"
        case WaitKind.DEPENDENCY:
            return f"waits for {who}" + (f", which is {row.blocker_phase}" if _dead_end(row) else " to land")
        case WaitKind.LANDING:
            return f"waits to land after {who}"
        case WaitKind.BACKOFF:
            return f"waits {_left(row)}: {one_line(row.wait_key)} (not counted)"
        case WaitKind.DIRTY:
            return f"waits for you: uncommitted {row.wait_key}"
        case WaitKind.HOLD:
            return "waits: the repository is held"
        case WaitKind.BUDGET:
            return f"waits for the project's budget {row.wait_key}, reserved by others"
        case WaitKind.CI:
            return ci(row).replace("CI", f"CI of {short(row.wait_key)}", 1)
        case WaitKind.MIRROR:
            return f"on main, waits for its mirror job ({short(row.wait_key)})"
        case WaitKind.AGENT:
            return f"waits for you, no agent can work: {one_line(row.wait_key)}"
        case WaitKind.SECRET:
            return f"waits for you: {one_line(row.wait_key)} is not set"
        case WaitKind.CHAIN:
            return f"waits for {who}, in a repository of its chain"
        case WaitKind.UPSTREAM:
            return "waits until a repository that it needs is green"
        case WaitKind.REPO_FULL:
            return "waits for a place in its repository"
        case _:
            assert_never(row.wait_kind)


def _dead_end(row: StoryRow) -> bool:
    return row.blocker_phase in (Phase.BLOCKED, Phase.CANCELLED, Phase.STALE)


def _left(row: StoryRow) -> str:
    left = (row.not_before - row.read_at).total_seconds() if row.not_before else 0.0
    return duration(left) if left > 0 else "no longer"


def _jobs(row: StoryRow) -> str:
    progress = row.progress or {}
    return f", {progress.get('jobs_passed', 0)} of {progress['total_jobs']} green" if "total_jobs" in progress else ""


def rest(snapshot: ProjectView) -> str:
    """`… 14 more ready, 31 done today`: what is there and not shown."""
    shown = {what: sum(1 for row in snapshot.rows if _kind(row) == what) for what in snapshot.counts}
    parts = []
    for what in ("leased", "blocked", "waiting", "ready", "stale"):
        left = snapshot.count(what) - shown.get(what, 0)
        if left > 0:
            words = {"leased": "at work"}.get(what, what)
            parts.append(f"{left:,} more {words}" if shown.get(what) else f"{left:,} {words}")
    done, today = snapshot.count("done"), snapshot.count("done today")
    if done:
        parts.append(f"{done:,} done" + (f" ({today:,} today)" if today < done else " today"))
    if snapshot.count("cancelled"):
        parts.append(f"{snapshot.count('cancelled'):,} cancelled")
    return ", ".join(parts)


def _kind(row: StoryRow) -> str:
    return row.phase if row.state == ItemState.RESTING else row.state
