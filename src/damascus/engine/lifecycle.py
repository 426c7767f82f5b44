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
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from damascus.domain import policy
from damascus.domain.errors import DamascusError, Fenced, Stopping, TransientError
from damascus.domain.failures import transient_os_error
from damascus.domain.feedback import VerdictFeedback
from damascus.domain.item import Item
from damascus.domain.outcome import Advance, GivenBack, NeedsPerson, Outcome, Transient
from damascus.domain.policy import Event, Transition
from damascus.domain.verdict import ACTIVE, Milestone, Phase
from damascus.engine import milestones, place
from damascus.engine.elsewhere import at_hand
from damascus.engine.phases.build import build
from damascus.engine.phases.candidate import shut_out_older_push
from damascus.engine.phases.merge import merge
from damascus.engine.phases.review import review
from damascus.engine.phases.spec import spec
from damascus.engine.run import Run
from damascus.engine.tools import Tools, nothing
from damascus.git.commands import GitError
from damascus.store import settle as store
from damascus.store.db import database_clock
from damascus.store.journal import write_events

BEGINNING = datetime.min.replace(tzinfo=UTC)
"""Stands for «now» where no time is looked at: asking the database for it costs a round trip."""

SCRIPTS: dict[Phase, Callable[[Run], Outcome]] = {
    Phase.SPEC: spec,
    Phase.BUILD: build,
    Phase.REVIEW: review,
    Phase.MERGE: merge,
}


@dataclass(frozen=True)
class StepInfo:
    """One line of the step table. kind: local (may repeat), agent (never again once done), effect (outside)."""

    phase: Phase
    step: str
    kind: str
    does: str


STEPS: tuple[StepInfo, ...] = (
    StepInfo(Phase.SPEC, "refine", "agent", "asks the spec-refiner for what a rough story lacks"),
    StepInfo(Phase.BUILD, "prepare", "local", "looks at main, decides the base, saves what lies in the workspace"),
    StepInfo(Phase.BUILD, "implement", "agent", "the agent writes in a fresh workspace; its files become a commit"),
    StepInfo(Phase.BUILD, "red", "local", "scope, secrets, weakened tests; the new tests fail without the code"),
    StepInfo(Phase.BUILD, "rebase", "local", "the candidate on top of main and those ahead in line, or a conflict"),
    StepInfo(Phase.BUILD, "verify", "local", "every gate on the rebased commit, in a clean checkout"),
    StepInfo(Phase.BUILD, "push", "effect", "branch and fence ref move together on the forge"),
    StepInfo(Phase.BUILD, "propose", "effect", "the pull request, found or opened"),
    StepInfo(Phase.BUILD, "ci", "local", "every CI job of exactly this commit, looked up by its SHA"),
    StepInfo(Phase.REVIEW, "look", "local", "the pull request as the forge has it"),
    StepInfo(Phase.REVIEW, "review", "local", "its head is judged again"),
    StepInfo(Phase.MERGE, "land", "effect", "main moves to exactly the tested commit"),
)
"""What every story goes through."""

SOMETIMES: tuple[StepInfo, ...] = (
    StepInfo(Phase.BUILD, "tip", "local", "main as the forge has it"),
    StepInfo(Phase.BUILD, "ci_since", "local", "since when CI shows nothing new of a commit"),
    StepInfo(Phase.BUILD, "ci_begun", "local", "the number that the forge gave the run"),
    StepInfo(Phase.BUILD, "diagnose", "local", "the red jobs' logs, cut and classified"),
    StepInfo(Phase.BUILD, "ci_rerun", "effect", "the forge runs the red jobs of the same commit once more"),
    StepInfo(Phase.BUILD, "ci_anew", "local", "the same tree as another commit, where the forge can't do that"),
    StepInfo(Phase.BUILD, "flaky", "effect", "what failed and then passed is told and quarantined by name"),
    StepInfo(Phase.BUILD, "ci_red", "local", "milestone FIXING_CI: the story is to repair it"),
    StepInfo(
        Phase.REVIEW, "approval", "local", "what a person is asked to approve; again in merge if it reads differently"
    ),
    StepInfo(Phase.MERGE, "stage", "effect", "the candidate on top of those ahead, on a branch of the queue"),
    StepInfo(Phase.MERGE, "mirror", "local", "the mirror job's success on main"),
    StepInfo(Phase.MERGE, "mirror_retrigger", "effect", "one empty commit on main, where the job was skipped"),
)
"""Only where CI is red, or runs elsewhere than here, or where a person has to approve."""


def carry(item: Item, tools: Tools, follow: Callable[[Run], None] = nothing) -> None:
    """Take a claimed item as far as it goes. Raises Fenced when somebody else took it over."""
    run = Run(item, tools)
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
        run = Run(following, tools, entries={})


def perform(run: Run) -> Outcome:
    """Run the phase's script; trouble outside is transient, a surprise is a question, never a pass."""
    try:
        shut_out_older_push(run)
        return SCRIPTS[run.item.phase](run)
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
    if (met := place.trouble(run.tools, err)) is not None:
        return met
    if isinstance(err, DamascusError):
        return NeedsPerson(
            None, str(err), ("retry", "cancel the story"), VerdictFeedback(message=str(err), gate=run.now)
        )
    return surprised(run, err)


def surprised(run: Run, err: Exception) -> NeedsPerson:
    """A bug of ours is not the story's fault and not a pass: a person sees it, nothing is charged."""
    run.folder.mkdir(parents=True, exist_ok=True)
    log = run.folder / "surprise.log"
    log.write_text(traceback.format_exc())
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
    run.tools.boundary("settle", "before")
    step = to.phase.value if to.new_run else run.now  # what ended is no step of the run that begins
    following = store.settle(
        run.tools.db, run.item, to, dones=run.pending, record={"step": step, **run.reported}, keep=keep
    )
    run.tools.boundary("settle", "after")
    run.tools.bell.ring()
    return following


def _milestone_events(run: Run, to: Transition) -> tuple[Event, ...]:
    if to.phase == Phase.BLOCKED and to.question:
        line = milestones.blocked_line(to.question.question.partition("\n")[0], to.question.owner)
        return run.reach(Milestone.BLOCKED, line)
    back = run.item.phase in (Phase.REVIEW, Phase.MERGE) and to.phase == Phase.BUILD
    return run.reach(Milestone.TERMINATED, milestones.terminated_line("sent back to build")) if back else ()


def _log_resumption(run: Run) -> None:
    """The one further move of a milestone: another claim goes on where a worker stopped (W3, W16)."""
    body: dict[str, object] = {"run": run.item.run_no, "phase": run.item.phase.value, "milestone": run.milestone}
    event: Event = ("run.resumed", body)
    run.tools.db.run(lambda c: write_events(c, run.item.project_id, run.item.id, (event,)))
