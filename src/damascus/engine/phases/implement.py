"""Implement, the agent's step of a build: a fresh workspace, an agent in it, its files as one commit.

Once it is done it never runs again: what it cost and what it made are in the journal.
"""

from pydantic import BaseModel, Field

from damascus.domain.errors import AgentBroken, TransientError
from damascus.domain.feedback import VerdictFeedback
from damascus.domain.ids import Sha
from damascus.domain.outcome import Outcome, Rejected
from damascus.domain.policy import Event
from damascus.domain.ports import Finding, Usage
from damascus.domain.roles import IMPLEMENTER
from damascus.domain.scope import Scope
from damascus.domain.spec import Spec
from damascus.domain.storable import clean
from damascus.domain.verdict import Milestone, Verdict
from damascus.engine import agent_fault, briefs, commits, endings, milestones
from damascus.engine.endings import Ending
from damascus.engine.guards import disk_is_full
from damascus.engine.phases.prepare import Prepared, save
from damascus.engine.run import Run
from damascus.engine.sending import Sent, is_stopped, purse_for, raise_if_outside, send
from damascus.engine.spending import Purse, Refused
from damascus.engine.writing import pipeline, role_findings
from damascus.git.contents import MEGABYTE, Room
from damascus.git.workspaces import Workspace
from damascus.store.journal import left_processes
from damascus.writes.bounds import refused_files
from damascus.writes.pipeline import Pipeline

MOST_CONCERNS = 10


class Made(BaseModel):
    """The agent's work as one commit on its base."""

    exit_code: int | None = None
    timed_out: bool = False
    seconds: float = 0.0
    commit: str | None = None
    tree: str | None = None
    base: str = ""
    files_changed: list[str] = Field(default_factory=list)
    claims: dict[str, object] = Field(default_factory=dict)
    summary: str = ""
    concerns: list[str] = Field(default_factory=list)
    tail: str = ""
    transcript: str = ""
    usage: Usage = Usage()
    ending: Ending = Ending()
    confinement: str = "unconfined"
    forbidden: list[Finding] = Field(default_factory=list)


def implement(run: Run, spec: Spec, prepared: Prepared) -> Made | Outcome:
    """The one agent step. Once it is done it never runs again. A commit to be judged, or what becomes of the story."""
    purse = purse_for(run, run.tools.read_config(prepared.base), "implement", IMPLEMENTER)
    try:
        if run.result("implement", Made) is None:
            agent_fault.refuse(run, purse)
        made = _made(run, spec, prepared, purse)
    except Refused as refused:
        return refused.outcome
    except AgentBroken as err:
        purse.give_up()
        return agent_fault.stop(run, err, purse.config, IMPLEMENTER)
    except BaseException:
        purse.give_up()
        raise
    return unfinished(run, made) or made


def _made(run: Run, spec: Spec, prepared: Prepared, purse: Purse) -> Made:
    facts: dict[str, object] = {"role": IMPLEMENTER, "attempt": run.item.attempts + 1}
    return run.effect(
        "implement",
        Made,
        lambda _: _implement(run, spec, prepared, purse),
        intent=lambda: facts,
        events=_told,
        progress=lambda made: {"files_modified": len(made.files_changed)},
        begins=lambda: (("agent.started", facts), *_working(run)),
        with_intent=purse.reserve,
        with_done=lambda c, made: purse.settle(c, made.usage),
    )


def unfinished(run: Run, made: Made) -> Outcome | None:
    """An agent that was ended, failed or changed nothing. Its claim of success is no evidence (Promise 1)."""
    feedback = VerdictFeedback(
        files_changed=made.files_changed, exit_code=made.exit_code, log=made.transcript, claims=made.claims
    )
    if (asked := endings.question(run, made.ending, feedback)) is not None:
        return asked
    if made.timed_out or made.ending.ended:
        message = f"the agent was ended after {made.seconds:.0f} s: {endings.reason(made.ending)}"
    elif made.exit_code != 0:
        message = f"the agent exited {made.exit_code}"
    elif made.commit is None and not made.forbidden:
        message = "the agent changed nothing that counts"
        return Rejected(Verdict.NOTHING_CHANGED, feedback.model_copy(update={"message": message}))
    elif made.forbidden:
        message = "; ".join(finding.message for finding in made.forbidden)
        outside = [path for finding in made.forbidden for path in finding.paths]
        told = {"message": message, "gate": "role", "out_of_scope": outside}
        return Rejected(Verdict.SCOPE_VIOLATION, feedback.model_copy(update=told))
    else:
        return None
    more = {"message": message, "gate": "agent", "test_output": clean(made.tail)}
    return Rejected(Verdict.AGENT_FAILED, feedback.model_copy(update=more))


def _working(run: Run) -> tuple[Event, ...]:
    """An attempt that repairs a red CI stays FIXING_CI until it is pushed."""
    if run.milestone == Milestone.FIXING_CI:
        return ()
    estimate = len(run.item.file_scope)
    return run.reach(
        Milestone.WORKING, milestones.working_line(run.item.title), files_modified=0, estimated_files=estimate
    )


def _told(made: Made) -> tuple[Event, ...]:
    finished: dict[str, object] = {"exit_code": made.exit_code, "seconds": round(made.seconds, 3)}
    finished |= {"ended": made.ending.ended} if made.ending.ended else {}
    finished |= {"tokens": made.usage.tokens, "turns": made.usage.turns} if made.usage.tokens else {}
    if made.commit is None:
        return (("agent.finished", finished),)
    return (("agent.finished", finished), ("build.committed", {"commit": made.commit, "files": made.files_changed}))


def _implement(run: Run, spec: Spec, prepared: Prepared, purse: Purse) -> Made:
    end_leftovers(run)
    workspace, start, was = fresh_workspace(run, prepared)
    run.folder.mkdir(parents=True, exist_ok=True)
    given = briefs.brief(run, spec, IMPLEMENTER, workspace.base, start=start, was=was)
    writes = pipeline(run, spec, purse.config, workspace, given)
    try:
        sent = send(run, given, workspace, writes, purse)
        if is_stopped(sent) or sent.ended:
            save(run, "implement", Sha(prepared.base))
        raise_if_outside(sent)
        if sent.done.exit_code != 0 and not sent.ended and disk_is_full(workspace.path):
            raise TransientError(f"the disk was full where the agent worked, and it exited {sent.done.exit_code}")
        return _commit(run, spec, workspace, writes, _made_of(sent, purse))
    finally:
        writes.finish()


def end_leftovers(run: Run) -> None:
    """What an agent of an earlier claim left running, in whichever run, is ended before a new one starts."""
    if run.item.fence == 1 or run.tools.end_leftovers is None:
        return
    for process in left_processes(run.tools.db, run.item):
        run.tools.end_leftovers(process)


def fresh_workspace(run: Run, prepared: Prepared) -> tuple[Workspace, str | None, str | None]:
    """Snapshot what is there, then a new folder: the base, with the in-scope files of the work before. Also which tree
    that work is, and what it was made on."""
    spaces, story, base = run.tools.workspaces, run.item.story_id, Sha(prepared.base)
    start = prepared.start
    if spaces.exists(story):
        saved = save(run, "resume", base)
        start = saved if run.intent("implement") else start
        run.assert_held()  # else a worker that woke up late takes the folder from under its heir's agent
        spaces.remove(story)
    was = Sha(prepared.was) if prepared.was and start == prepared.start else None
    if start is None:
        workspace = spaces.create(story, base)
    else:
        workspace = spaces.recreate(story, base, Sha(start), Scope(run.item.file_scope), was=was)
    run.tools.prepare_checkout(workspace.path)
    return workspace, start, was


def _made_of(sent: Sent, purse: Purse) -> Made:
    done = sent.done
    return Made(
        exit_code=done.exit_code,
        timed_out=done.timed_out,
        seconds=done.seconds,
        claims=done.report.claims if done.report else {},
        summary=clean(done.report.summary, 4000) if done.report else "",
        concerns=[clean(each, 500) for each in done.report.concerns[:MOST_CONCERNS]] if done.report else [],
        tail=clean(done.tail, 4000),
        transcript=done.transcript,
        usage=sent.usage,
        ending=endings.of(sent, purse),
        confinement=done.confinement,
    )


def _commit(run: Run, spec: Spec, workspace: Workspace, writes: Pipeline, made: Made) -> Made:
    """What counts is the files: the agent's own commits, branches and hooks do not."""
    mirror, base = run.tools.mirror, workspace.base
    config = run.tools.read_config(base)
    limits, as_laid = config.limits, run.tools.as_laid(workspace.path, base, config)
    room = Room(limits.file_max_mb * MEGABYTE, limits.tree_max_mb * MEGABYTE)
    left = run.tools.workspaces.collected(workspace, Scope(run.item.file_scope), room, as_laid)
    tree, changed = left.tree, mirror.changed(base, left.tree)
    forbidden = [*refused_files(left.refused), *role_findings(run, writes, base, tree, changed)]
    found = {"tree": tree, "base": base, "files_changed": [file.path for file in changed], "forbidden": forbidden}
    made = made.model_copy(update=found)
    if not changed or made.exit_code != 0 or made.timed_out or made.ending.ended:
        return made
    text = commits.message(run.item, spec.kind, changed, "implement", wanted=config.commit, summary=made.summary)
    return made.model_copy(update={"commit": mirror.commit_tree(tree, [base], text, config.commit.author)})
