"""How far the worker that holds an item is, and the fixed lines by which it reports (W3, W4).

WORKING → PUSHED_TO_CI → (FIXING_CI → PUSHED_TO_CI)* → DONE. BLOCKED and TERMINATED from any. Nothing else, but
the resumption after a restart, which is logged as such.
"""

from damascus.domain.ids import short
from damascus.domain.ports import CiRun, WantedJobs
from damascus.domain.verdict import Milestone

MOVES: dict[Milestone | None, frozenset[Milestone]] = {
    None: frozenset({Milestone.WORKING}),
    Milestone.WORKING: frozenset({Milestone.PUSHED_TO_CI}),
    Milestone.PUSHED_TO_CI: frozenset({Milestone.FIXING_CI, Milestone.DONE}),
    Milestone.FIXING_CI: frozenset({Milestone.PUSHED_TO_CI}),
    Milestone.DONE: frozenset(),
    Milestone.BLOCKED: frozenset(),
    Milestone.TERMINATED: frozenset(),
}
FROM_ANY = frozenset({Milestone.BLOCKED, Milestone.TERMINATED})


class MilestoneRefused(Exception):
    """A milestone that the contract does not allow."""


def checked(now: Milestone | None, to: Milestone) -> Milestone:
    """Refuse every move that is not in the table. The same milestone again is a report, not a move."""
    if to == now or to in FROM_ANY or to in MOVES[now]:
        return to
    raise MilestoneRefused(f"no milestone {to} after {now}")


def is_over(now: Milestone | None) -> bool:
    """Has this contract ended, or none begun? Then a push begins another."""
    return not MOVES[now] or now is None


def pushed_line(repo: str, commit: str, run_id: str) -> str:
    return f"PUSHED_TO_CI: {repo} commit {short(commit)} - CI run #{run_id}"


def fixing_line(job: str, diagnosis: str) -> str:
    return f"FIXING_CI: {job} - {diagnosis}"


def working_line(what: str) -> str:
    return f"WORKING: {what}"


def blocked_line(reason: str, who: str) -> str:
    return f"BLOCKED: {reason.partition(chr(10))[0]} - {who} must act"


def terminated_line(reason: str) -> str:
    return f"TERMINATED: {reason}"


def done_line(repo: str, ci: CiRun, wanted: WantedJobs, mirror: str = "not configured") -> str:
    """A DONE without run id, all jobs' states and the mirror's state is refused (W4)."""
    if not ci.run_id or not ci.jobs or not ci.green(wanted) or not mirror:
        raise MilestoneRefused(f"DONE needs a run id, every job green and the mirror's state; got {ci.model_dump()}")
    jobs = ", ".join(f"{job.name} {job.state}" for job in ci.judged(wanted))
    rest = ", ".join(f"{job.name} {job.state}" for job in ci.jobs if wanted.may_be(job))
    return (
        f"DONE: {repo} CI run #{ci.run_id} all green ({jobs}{f'; optional: {rest}' if rest else ''}), mirror: {mirror}"
    )
