"""The first half of a build: a fresh workspace, the agent's work as a commit, the proof that its tests were red."""

import os
from functools import partial
from pathlib import Path
from typing import Any

from pydantic import BaseModel, Field

from damascus.domain.errors import Stopping, TransientError
from damascus.domain.failures import AGENT_UNAVAILABLE
from damascus.domain.feedback import VerdictFeedback, clean
from damascus.domain.ids import Sha
from damascus.domain.outcome import Rejected
from damascus.domain.policy import Event
from damascus.domain.ports import AgentRun, Candidate, Watch
from damascus.domain.scope import Scope
from damascus.domain.spec import Spec
from damascus.domain.verdict import Milestone, Verdict
from damascus.engine import briefs, judging, milestones
from damascus.engine.guards import disk_is_full
from damascus.engine.judging import Judged
from damascus.engine.run import Run
from damascus.git.mirror import Mirror
from damascus.git.workspaces import Workspace
from damascus.store.db import sql
from damascus.store.journal import left_processes

MANY = 200
"""So many changed files that they are looked up in one listing."""


class Prepared(BaseModel):
    """Where the attempt starts: its base, the tree of the work before it (if any) and what that was made on."""

    base: str
    start: str | None = None
    was: str | None = None


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
    tail: str = ""
    transcript: str = ""

    @property
    def rejected(self) -> Rejected | None:
        """An agent that failed, hung or changed nothing. Its claim of success is no evidence (Promise 1)."""
        feedback = VerdictFeedback(
            files_changed=self.files_changed, exit_code=self.exit_code, log=self.transcript, claims=self.claims
        )
        if self.timed_out:
            message = f"the agent was ended after {self.seconds:.0f} s"
        elif self.exit_code != 0:
            message = f"the agent exited {self.exit_code}"
        elif self.commit is None:
            message = "the agent changed nothing that counts"
            return Rejected(Verdict.NOTHING_CHANGED, feedback.model_copy(update={"message": message}))
        else:
            return None
        more = {"message": message, "gate": "agent", "test_output": clean(self.tail)}
        return Rejected(Verdict.AGENT_FAILED, feedback.model_copy(update=more))


# ── prepare ───────────────────────────────────────────────────────────────────────────────────────────


def prepare(run: Run) -> Prepared:
    """Look at main, decide the base, save what an earlier attempt left in the workspace."""
    return run.local("prepare", Prepared, lambda: _prepare(run))


def _prepare(run: Run) -> Prepared:
    tip = run.tools.forge.main_tip()
    prepared = _start_of(run, tip)
    if run.item.base_commit != tip or prepared.base != tip:
        run.correct_base(prepared.base, tip)
    return prepared


def _start_of(run: Run, tip: Sha) -> Prepared:
    """A further attempt keeps its base until the rebase; after a conflict it starts from the merge on main. A person's
    retry starts from main as it is now with the work so far, a new spec from main alone."""
    last, feedback = _previous(run), run.item.last_feedback
    if "prepare" not in last or feedback is None:
        return Prepared(base=tip)
    merged = last.get("rebase", {}).get("conflict_tree")
    if feedback.conflict is not None and merged:
        return Prepared(base=feedback.conflict.their_sha, start=merged)
    was, start = last["prepare"]["base"], _left_behind(run, last)
    if run.item.attempts == 0:
        return Prepared(base=tip, start=start, was=was)
    return Prepared(base=was, start=start)


def _previous(run: Run) -> dict[str, dict[str, Any]]:
    if run.item.run_no == 1:
        return {}
    params = {"item": run.item.id, "run": run.item.run_no}
    found = run.tools.db.run(lambda c: c.execute(sql("previous_attempt"), params).fetchall())
    return {row["step"]: row["output"] for row in found}


def _left_behind(run: Run, last: dict[str, dict[str, Any]]) -> str | None:
    saved = save(run, "prepare", Sha(last["prepare"]["base"]))
    return saved or last.get("implement", {}).get("tree")


def save(run: Run, step: str, base: Sha) -> str | None:
    """All that is in the workspace becomes a commit of the story's snapshot chain, before anything is reset."""
    item = run.item
    folder = run.tools.workspaces.path(item.story_id)
    saved = run.tools.snapshots.save(folder, item.story_id, run_no=item.run_no, step=step, fence=item.fence, base=base)
    return saved.tree if saved else None


# ── implement ─────────────────────────────────────────────────────────────────────────────────────────


def implement(run: Run, spec: Spec, prepared: Prepared) -> Made:
    """The one agent step. Once it is done it never runs again."""
    return run.effect(
        "implement",
        Made,
        lambda _: _implement(run, spec, prepared),
        intent=lambda: {"role": "code-implementer", "attempt": run.item.attempts + 1},
        events=_told,
        progress=lambda made: {"files_modified": len(made.files_changed)},
        begins=lambda: (
            ("agent.started", {"role": "code-implementer", "attempt": run.item.attempts + 1}),
            *_working(run),
        ),
    )


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
    if made.commit is None:
        return (("agent.finished", finished),)
    return (("agent.finished", finished), ("build.committed", {"commit": made.commit, "files": made.files_changed}))


def _implement(run: Run, spec: Spec, prepared: Prepared) -> Made:
    end_leftovers(run)
    workspace = fresh_workspace(run, prepared)
    done = ask_agent(run, spec, workspace)
    if done.stopped:
        save(run, "implement", Sha(prepared.base))
        raise Stopping
    if done.exit_code == AGENT_UNAVAILABLE:
        raise TransientError("the agent says that its provider is unavailable (exit 75)")
    if done.exit_code != 0 and disk_is_full(workspace.path):
        raise TransientError(f"the disk was full where the agent worked, and it exited {done.exit_code}")
    return _commit(run, workspace, done)


def end_leftovers(run: Run) -> None:
    """What an agent of an earlier claim left running, in whichever run, is ended before a new one starts."""
    if run.item.fence == 1 or run.tools.end_leftovers is None:
        return
    for process in left_processes(run.tools.db, run.item):
        run.tools.end_leftovers(process)


def fresh_workspace(run: Run, prepared: Prepared) -> Workspace:
    """Snapshot what is there, then a new folder: the base, with the in-scope files of the work before."""
    spaces, story, base = run.tools.workspaces, run.item.story_id, Sha(prepared.base)
    start = prepared.start
    if spaces.exists(story):
        saved = save(run, "resume", base)
        start = saved if run.intent("implement") else start
        run.assert_held()  # else a worker that woke up late takes the folder from under its heir's agent
        spaces.remove(story)
    if start is None:
        workspace = spaces.create(story, base)
    else:
        was = Sha(prepared.was) if prepared.was and start == prepared.start else None
        workspace = spaces.recreate(story, base, Sha(start), Scope(run.item.file_scope), was=was)
    run.tools.prepare_checkout(workspace.path)
    return workspace


def ask_agent(run: Run, spec: Spec, workspace: Workspace) -> AgentRun:
    agent = run.tools.agent
    assert agent is not None
    config = run.tools.read_config(workspace.base)
    given = briefs.brief(run, spec, "code-implementer", workspace.base)
    run.folder.mkdir(parents=True, exist_ok=True)
    watch = Watch(
        prompt=briefs.prompt(given),
        brief_file=run.folder / "brief.json",
        report_file=run.folder / "report.json",
        transcript=run.folder / "transcript.txt",
        timeout=config.agent.timeout_seconds,
        stopping=run.stopping,
        started=lambda process: run.note("implement", "", {"role": given.role, "process": dict(process)}),
        env=passed_on(config.workspace.env),
        log_limit=config.limits.log_max_mb * 1_000_000,
    )
    return agent.run(given, workspace.path, watch)


def passed_on(names: list[str]) -> dict[str, str]:
    return {name: os.environ[name] for name in names if name in os.environ}


def _commit(run: Run, workspace: Workspace, done: AgentRun) -> Made:
    """What counts is the files: the agent's own commits, branches and hooks do not."""
    mirror = run.tools.mirror
    tree = run.tools.workspaces.collect(workspace)
    changed = mirror.changed(workspace.base, tree)
    made = Made(
        exit_code=done.exit_code,
        timed_out=done.timed_out,
        seconds=done.seconds,
        tree=tree,
        base=workspace.base,
        files_changed=[file.path for file in changed],
        claims=done.report.claims if done.report else {},
        summary=clean(done.report.summary, 4000) if done.report else "",
        tail=clean(done.tail, 4000),
        transcript=done.transcript,
    )
    if not changed or done.exit_code != 0 or done.timed_out:
        return made
    commit = mirror.commit_tree(tree, [workspace.base], message(run))
    return made.model_copy(update={"commit": commit})


def message(run: Run) -> str:
    item = run.item
    return (
        f"feat: {item.title}\n\nStory: {item.story_id}\nDamascus-Item: {item.uuid}\n"
        f"Damascus-Run: {item.run_no}\nDamascus-Attempt: {item.attempts + 1}\n"
    )


# ── red ───────────────────────────────────────────────────────────────────────────────────────────────


def prove_red(run: Run, spec: Spec, made: Made) -> Judged:
    """Scope, secrets, weakened tests, and the proof that the new tests fail without the code (D7)."""
    return run.local("red", Judged, lambda: judging.judge(run.tools.gates_before, candidate(run, spec, made)))


def candidate(run: Run, spec: Spec, made: Made) -> Candidate:
    assert made.commit is not None and made.tree is not None
    return candidate_of(run, spec, (Sha(made.commit), Sha(made.tree), Sha(made.base)), None)


def candidate_of(run: Run, spec: Spec, shas: tuple[Sha, Sha, Sha], red: Judged | None) -> Candidate:
    commit, tree, base = shas
    config = run.tools.read_config(base)
    logs: Path = run.folder
    logs.mkdir(parents=True, exist_ok=True)
    changed = run.tools.mirror.changed(base, commit)
    return Candidate(
        commit=commit,
        tree=tree,
        base=base,
        changed=changed,
        spec=spec,
        scope=Scope(run.item.file_scope),
        config=config,
        read=run.tools.mirror.read if len(changed) < MANY else partial(_read_listed, run.tools.mirror),
        logs=logs,
        private_logs=run.tools.folder / "held-out" / run.item.story_id / f"run-{run.item.run_no}",
        env=passed_on(config.workspace.env),
        acceptance=run.item.acceptance,
        red=red.of("red") if red else None,
    )


def _read_listed(mirror: Mirror, commit: Sha, path: str) -> bytes | None:
    """Gates read each changed file. Looking through a folder anew for each of the 20,000 files that an agent wrote
    into it takes time by the square of their number; a listing is made once."""
    entry = mirror.listing(commit).files.get(path)
    found = mirror.objects.find([entry.sha])[0] if entry is not None else None
    return found.data if found is not None and found.kind == "blob" else None
