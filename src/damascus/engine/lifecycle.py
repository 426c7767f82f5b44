"""★ Read this first: the life of an item, the steps of each phase, and the one function that settles.

          ┌───────────── spec_wrong / spec_ambiguous ────────────┐
          ▼                                                      │
  add ─▶ spec ──▶ build ──▶ review ──▶ merge ──▶ done ──change──▶ stale ──approve──▶ spec
                   ▲  │        │         │
                   └──┴─rework─┴─────────┘          any phase ─▶ blocked ──answer──▶ that phase

A worker claims an item and `carry` takes it as far as it goes: a phase's script (engine/phases/*.py, each read
top to bottom) ends in an outcome, `policy.decide` says what that means, `settle` writes it in one transaction.
Whoever is killed anywhere in between leaves a journal from which any other worker goes on.
"""

import traceback
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from damascus.domain import policy
from damascus.domain.errors import DamascusError, Fenced, GitError, RootNeeded, Stopping, TransientError
from damascus.domain.events import Event, EventKind
from damascus.domain.failures import transient_os_error
from damascus.domain.feedback import VerdictFeedback
from damascus.domain.halt import HaltReason
from damascus.domain.item import Item
from damascus.domain.outcome import Advance, GivenBack, NeedsPerson, Outcome, Transient
from damascus.domain.policy import Transition
from damascus.domain.verdict import ACTIVE, Milestone, Phase, Verdict
from damascus.engine import halts, milestones, repository_fault
from damascus.engine.elsewhere import at_hand
from damascus.engine.flow import full
from damascus.engine.phases import build, merge, review, spec
from damascus.engine.run import Run, Slot
from damascus.engine.step import Step, other_steps
from damascus.engine.steps.propose import PROPOSE
from damascus.engine.steps.push import shut_out_older_push
from damascus.engine.steps.tell import tell_outcome
from damascus.engine.tools import Tools, nothing
from damascus.store import settle as store
from damascus.store.db import database_clock
from damascus.store.journal import write_events

BEGINNING = datetime.min.replace(tzinfo=UTC)
"""Stands for "now" where no time is looked at: asking the database for it costs a round trip."""

SCRIPTS: dict[Phase, Callable[[Run], Outcome]] = {
    Phase.SPEC: spec.spec,
    Phase.BUILD: build.build,
    Phase.REVIEW: review.review,
    Phase.MERGE: merge.merge,
}


STEPS: tuple[Step[Any], ...] = (*spec.STEPS, *build.STEPS, *review.STEPS, *merge.STEPS)
"""What every story goes through, in order; a rough one also through `refine`."""
FULL: tuple[Step[Any], ...] = full.STEPS
"""What stands in the place of `implement` in profile `full`, in order."""
SOMETIMES: tuple[Step[Any], ...] = other_steps((*STEPS, *FULL))
"""Only of a plan, or where CI is red, or runs elsewhere than here, where somebody reads the pull request or has to
approve it, where it is sent back, or a budget ends a loop."""


def carry(item: Item, tools: Tools, slot: Slot | None = None, follow: Callable[[Run], None] = nothing) -> None:
    """Take a claimed item as far as it goes. Raises Fenced when somebody else took it over. `follow` is told of each
    run as it begins."""
    run = Run(item, tools, slot=slot)
    if run.begun_by_another():
        run = run.anew("another version of the script began it")
    elif not at_hand(run):
        run = run.anew("what another host made of it is not here")
    if run.resumed and item.rescues:
        _log_resumption(run)
    while True:
        follow(run)
        outcome = perform(run)
        following = settle(run, outcome)
        if following is None:
            return
        run = Run(following, tools, entries={}, slot=slot)


def perform(run: Run) -> Outcome:
    """Run the phase's script; trouble outside is transient, a surprise is a question, never a pass."""
    try:
        shut_out_older_push(run)
        outcome = SCRIPTS[run.item.phase](run)
        if run.item.phase in (Phase.REVIEW, Phase.MERGE) or run.results(PROPOSE):
            tell_outcome(run, outcome)
        return outcome
    except Fenced:
        raise
    except Stopping:
        return GivenBack()
    except TransientError as err:
        return Transient(str(err), None if err.wait is None else timedelta(seconds=err.wait))
    except OSError as err:
        if transient_os_error(err):
            return Transient(f"{err.strerror or err} ({run.now})")
        return _fault(run, err)
    except Exception as err:
        if run.tools.stopping() and _ended_by_a_signal(err):
            return GivenBack()
        return _fault(run, err)


def _ended_by_a_signal(err: Exception) -> bool:
    """Whoever stops us may end our children as well: that is a stop, and no fault of the story's."""
    code = err.code if isinstance(err, GitError) else getattr(err, "returncode", 0)
    return isinstance(code, int) and code < 0


def _fault(run: Run, err: Exception) -> Outcome:
    """Of the place (asked once for all stories), of this story, or of ours."""
    if (met := repository_fault.trouble(run.tools, err)) is not None:
        return met
    if isinstance(err, DamascusError):
        halt = HaltReason.ROOT if isinstance(err, RootNeeded) else None
        feedback = VerdictFeedback(message=str(err), gate=run.now, halt=halt)
        return NeedsPerson(None, str(err), ("retry", "cancel the story"), feedback)
    return surprised(run, err)


def surprised(run: Run, err: Exception) -> NeedsPerson:
    """A bug of ours is not the story's fault and not a pass: a person sees it, nothing is charged."""
    run.folder.mkdir(parents=True, exist_ok=True)
    log = run.folder / "surprise.log"
    log.write_text(traceback.format_exc())
    facts = {"step": run.now, "error": type(err).__name__, "details": str(log)}
    run.tools.log.error("surprised", story=run.item.story_id, **facts)
    what = f"Damascus failed in step {run.now} of {run.item.story_id}: {type(err).__name__}: {err}"
    feedback = VerdictFeedback(message=what, gate=run.now, log=str(log))
    return NeedsPerson(None, f"{what} (details: {log})", ("retry", "cancel the story"), feedback)


def settle(run: Run, outcome: Outcome) -> Item | None:
    """The only writer of an item's phase while a worker holds it. Returns the item if this worker goes on."""
    now = database_clock(run.tools.db) if policy.needs_clock(outcome) else BEGINNING
    to = policy.decide(run.item, outcome, now)
    to = replace(to, events=(*to.events, *_milestone_events(run, to)))
    goes_on = isinstance(outcome, Advance) and to.keep_place
    keep = goes_on and to.phase in ACTIVE and not run.tools.stopping()
    run.flush()
    run.tools.boundary("settle", "before")
    step = to.phase.value if to.new_run else run.now  # what ended is no step of the run that begins
    following = store.settle(
        run.tools.db, run.item, to, dones=run.pending, record={"step": step, **run.reported}, keep=keep
    )
    run.tools.boundary("settle", "after")
    _log_settlement(run, outcome, to)
    run.tools.bell.ring()
    if to.phase == Phase.BLOCKED:
        halts.count_blocked(run.tools)
    return following


def _log_settlement(run: Run, outcome: Outcome, to: Transition) -> None:
    """Names only: what an outcome says may be an agent's words."""
    verdict = getattr(outcome, "verdict", None)
    facts = {"phase": run.item.phase.value, "run": run.item.run_no, "step": run.now, "to": to.phase.value}
    told = {"outcome": type(outcome).__name__, "verdict": verdict.value if isinstance(verdict, Verdict) else None}
    run.tools.log.info("settled", story=run.item.story_id, **facts, **told)


def _milestone_events(run: Run, to: Transition) -> tuple[Event, ...]:
    if to.phase == Phase.BLOCKED and to.question:
        line = milestones.blocked_line(to.question.question.partition("\n")[0], to.question.owner)
        return run.reach(Milestone.BLOCKED, line)
    back = run.item.phase in (Phase.REVIEW, Phase.MERGE) and to.phase == Phase.BUILD
    return run.reach(Milestone.TERMINATED, milestones.terminated_line("sent back to build")) if back else ()


def _log_resumption(run: Run) -> None:
    """The one further move of a milestone: another claim goes on where a worker stopped (W3, W16)."""
    body: dict[str, object] = {"run": run.item.run_no, "phase": run.item.phase.value, "milestone": run.milestone}
    event: Event = (EventKind.RUN_RESUMED, body)
    run.tools.db.run(lambda c: write_events(c, run.item.project_id, run.item.id, (event,)))
