"""The one door for an agent. Whatever its role, an agent step is:

purse → brief → workspace → write pipeline → overseer → the agent → its end → its files → its answer → journal

`run.agent(STEP, spec, start)` does all of it. The step names the role, which says what it may write
(domain/roles.py), the prompt (engine/prompts/<role>.md), and the type that its answer is read as.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from damascus.domain.errors import AgentBroken, TransientError
from damascus.domain.events import Event, EventKind
from damascus.domain.halt import HaltReason
from damascus.domain.ids import Sha
from damascus.domain.outcome import NeedsPerson, Outcome
from damascus.domain.ports import Report
from damascus.domain.roles import writes_files
from damascus.domain.scope import Scope
from damascus.domain.spec import Spec
from damascus.domain.storable import clean
from damascus.domain.verdict import Milestone, Phase
from damascus.engine import commits, milestones
from damascus.engine.agent_step import agent_fault, briefs, patterns, results
from damascus.engine.agent_step.results import AgentResult, agent_failed, told_by
from damascus.engine.agent_step.sending import Sent, is_stopped, purse_for, raise_if_outside, send
from damascus.engine.agent_step.spending import NotSent, Purse
from damascus.engine.agent_step.workspace import StartingPoint, end_leftovers, fresh_workspace, save
from damascus.engine.agent_step.writing import pipeline, role_findings
from damascus.engine.guards import disk_is_full
from damascus.engine.run import Run
from damascus.engine.step import Step
from damascus.engine.tools import nothing
from damascus.git.contents import MEGABYTE, Room
from damascus.git.workspaces import Workspace
from damascus.store import decisions
from damascus.store.db import Connection
from damascus.writes.bounds import refused_files
from damascus.writes.pipeline import Pipeline

A = TypeVar("A", bound=AgentResult)
MOST_CONCERNS = 10


def run_agent(
    run: Run,
    step: Step[A],
    spec: Spec,
    start: StartingPoint,
    *,
    key: str = "",
    accepted: frozenset[str] = frozenset(),
    failed: Callable[[Run, A], Outcome | None] | None = None,
    handed: briefs.Handed | None = None,
    leaves: Callable[[A], None] = nothing,
) -> A | Outcome:
    """A result that can be built upon, or what becomes of the story. Once it is done it never runs again.

    `key` tells one round of a step from another; `accepted` are tests that only their author may still change;
    `failed` says what an agent's failure means, if it is no attempt; `handed` is what other steps found, for its brief;
    `leaves` is told of the result in the transaction that records it.
    """
    purse = purse_for(run, step, key, run.tools.read_config(start.base))
    try:
        looked = None
        if run.result(step, key) is None:
            agent_fault.refuse(run, purse)
            looked = _looked_up(run, step, spec, start)
        result = _journaled(run, _Dispatched(step, key, spec, start, accepted, purse, handed, leaves, looked))
    except NotSent as refused:
        return refused.outcome
    except AgentBroken as err:
        purse.give_up()
        return agent_fault.stop(run, err, purse.config, step.role)
    except BaseException:
        purse.give_up()
        raise
    return (
        results.root_needed(run, result)
        or results.question(run, result.ending, told_by(result))
        or (failed or agent_failed)(run, result)
        or result
    )


def _looked_up(run: Run, step: Step[A], spec: Spec, start: StartingPoint) -> patterns.LookedUp | None:
    """Of a task, before its code is written; a plain story has neither domain nor type. Raises NotSent where the
    library had to be searched and is not there."""
    if step.role not in patterns.WRITERS or not (spec.domain or spec.task_type or spec.graph):
        return None
    looked = patterns.look_up(run, spec, start.base)
    if isinstance(looked, NeedsPerson):
        raise NotSent(looked)
    return looked


@dataclass(frozen=True)
class _Dispatched(Generic[A]):
    """One agent that is to be sent: what for, with what, and at whose cost."""

    step: Step[A]
    key: str
    spec: Spec
    start: StartingPoint
    accepted: frozenset[str]
    purse: Purse
    handed: briefs.Handed | None
    leaves: Callable[[A], None]
    looked: patterns.LookedUp | None = None
    """What the pattern library has for it, where it was searched."""

    @property
    def writes(self) -> bool:
        return writes_files(self.step.role)


# ── the journal ───────────────────────────────────────────────────────────────────────────────────────


def _journaled(run: Run, sent: _Dispatched[A]) -> A:
    facts: dict[str, object] = {"role": sent.step.role, "attempt": run.item.attempts + 1}
    return run.effect(
        sent.step,
        lambda _: _at_work(run, sent),
        key=sent.key,
        intent=lambda: facts,
        events=lambda result: _finished(result, alone=not sent.key),
        progress=lambda result: {"files_modified": len(result.files_changed)} if sent.writes else {},
        begins=lambda: ((EventKind.AGENT_STARTED, facts), *_working(run)),
        with_intent=lambda c: _begun(c, run, sent),
        with_done=lambda c, result: _settled(c, run, sent, result),
    )


def _begun(c: Connection, run: Run, sent: _Dispatched[A]) -> None:
    sent.purse.reserve(c)
    if sent.looked is not None:
        sent.looked.record(c, run)


def _settled(c: Connection, run: Run, sent: _Dispatched[A], result: A) -> None:
    """What it cost, decided and assumed is written with the step, so that after a crash it has the same number."""
    sent.purse.settle(c, result.usage)
    if result.succeeded:
        decisions.record(c, run.item, result.decisions, result.assumed)
    sent.leaves(result)
    if sent.looked is not None:
        patterns.record_applied(c, run, sent.looked, result.patterns)


def _working(run: Run) -> tuple[Event, ...]:
    """An attempt that repairs a red CI stays FIXING_CI until it is pushed; a spec that is refined is no attempt."""
    if run.milestone == Milestone.FIXING_CI or run.item.phase != Phase.BUILD:
        return ()
    estimate = len(run.item.file_scope)
    return run.reach(
        Milestone.WORKING, milestones.working_line(run.item.title), files_modified=0, estimated_files=estimate
    )


def _finished(result: AgentResult, *, alone: bool) -> tuple[Event, ...]:
    """Where several agents build one commit, the step `commit` tells of it."""
    finished: dict[str, object] = {"exit_code": result.exit_code, "seconds": round(result.seconds, 3)}
    finished |= {"ended": result.ending.ended} if result.ending.ended else {}
    finished |= {"tokens": result.usage.tokens, "turns": result.usage.turns} if result.usage.tokens else {}
    if result.commit is None or not alone:
        return ((EventKind.AGENT_FINISHED, finished),)
    body: dict[str, object] = {"commit": result.commit, "files": result.files_changed}
    return ((EventKind.AGENT_FINISHED, finished), (EventKind.BUILD_COMMITTED, body))


# ── at work ───────────────────────────────────────────────────────────────────────────────────────────


def _at_work(run: Run, it: _Dispatched[A]) -> A:
    end_leftovers(run)
    workspace, start = fresh_workspace(run, it.start, resumes=it.writes and run.intent(it.step, it.key) is not None)
    run.folder.mkdir(parents=True, exist_ok=True)
    if it.step.returns.artifact:
        (run.artifacts / it.step.returns.artifact).unlink(missing_ok=True)
    handed = it.looked.added_to(it.handed) if it.looked else it.handed
    given = briefs.brief(run, it.spec, it.step.role, start=start, handed=handed)
    writes = pipeline(run, it.spec, it.purse.config, workspace, given, accepted=it.accepted)
    try:
        sent = send(run, it.step, given, workspace, writes=writes, purse=it.purse)
        if it.writes and (is_stopped(sent) or sent.ended):
            save(run, it.step.name, Sha(it.start.base))
        raise_if_outside(sent)
        if sent.done.exit_code != 0 and not sent.ended and disk_is_full(workspace.path):
            raise TransientError(f"the disk was full where the agent worked, and it exited {sent.done.exit_code}")
        result = _collected(run, it, workspace, writes, _recorded(it, sent))
    finally:
        writes.finish()
    if not result.succeeded:
        return result
    if it.looked is not None:
        used = patterns.applied(run, it.looked, sent.done.report, result)
        result = result.model_copy(update={"patterns": used})
    return result.answered(sent.done.report, _artifact(run, it.step.returns))


def _recorded(it: _Dispatched[A], sent: Sent) -> A:
    done = sent.done
    return it.step.returns(
        exit_code=done.exit_code,
        timed_out=done.timed_out,
        seconds=done.seconds,
        claims=done.report.claims if done.report else {},
        summary=clean(done.report.summary, 4000) if done.report else "",
        concerns=[clean(each, 500) for each in done.report.concerns[:MOST_CONCERNS]] if done.report else [],
        decisions=done.report.decisions if done.report else [],
        assumptions=done.report.assumptions if done.report else [],
        tail=clean(done.tail, 4000),
        complaint=clean(done.complaint, 500),
        transcript=done.transcript,
        usage=sent.usage,
        cost=it.purse.price.cost(sent.usage) if it.purse.price else None,
        ending=results.ending_of(sent, it.purse),
        confinement=done.confinement,
        needs_root=_says_root(done.report),
    )


def _says_root(report: Report | None) -> bool:
    missing = report.whole.get("missing") if report else None
    return isinstance(missing, list) and HaltReason.ROOT.value in missing


def _collected(run: Run, it: _Dispatched[A], workspace: Workspace, writes: Pipeline, result: A) -> A:
    """What counts is the files: the agent's own commits, branches and hooks do not. Of a role that writes none nothing
    counts; what it changed all the same is in the log of writes."""
    mirror, base = run.tools.mirror, workspace.base
    config, scope = run.tools.read_config(base), Scope(run.item.file_scope)
    limits, as_laid = config.limits, run.tools.as_laid(workspace.path, base, config)
    room = Room(limits.file_max_mb * MEGABYTE, limits.tree_max_mb * MEGABYTE)
    left = run.tools.workspaces.collected(workspace, scope, room, as_laid)
    changed = mirror.changed(base, left.tree)
    found = Sha(it.start.start) if it.start.checked and it.start.start else base
    forbidden = role_findings(run, writes, found, left.tree, mirror.changed(found, left.tree))
    if not it.writes:
        return result.model_copy(update={"base": base, "forbidden": forbidden})
    told = {"tree": left.tree, "base": base, "files_changed": [file.path for file in changed]}
    result = result.model_copy(update={**told, "forbidden": [*refused_files(left.refused), *forbidden]})
    if not changed or not result.succeeded:
        return result
    text = commits.message(
        run.item, it.spec.kind, changed, it.step.name, wanted=config.commit, summary=result.summary
    )  # fmt: skip
    return result.model_copy(update={"commit": mirror.commit_tree(left.tree, [base], text, config.commit.author)})


def _artifact(run: Run, returns: type[AgentResult]) -> str | None:
    """None: it is not there, is no plain file, or is longer than anybody would read."""
    path = run.artifacts / returns.artifact
    if not returns.artifact or not path.is_file() or path.is_symlink() or path.stat().st_size > returns.largest:
        return None
    return path.read_bytes().decode("utf-8", errors="replace").replace("\x00", "")
