"""Prepare: where an attempt starts. Looks at main, decides the base, saves what an earlier attempt left."""

from typing import Any

from pydantic import BaseModel

from damascus.domain.ids import Sha
from damascus.engine.run import Run
from damascus.store.db import sql


class Prepared(BaseModel):
    """Where the attempt starts: its base, the tree of the work before it (if any) and what that was made on."""

    base: str
    start: str | None = None
    was: str | None = None


def prepare(run: Run) -> Prepared:
    """Look at main, decide the base, save what an earlier attempt left in the workspace."""
    return run.local("prepare", Prepared, lambda: _prepare(run))


def _prepare(run: Run) -> Prepared:
    tip = run.tools.forge.main_tip()
    run.tools.read_config(tip)  # no attempt begins on rules that can't be read
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
    if feedback.conflict is not None and merged and tree_here(run, merged):
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
    saved = save(run, "left", Sha(last["prepare"]["base"]), by=_last_run(run))
    made = last.get("implement", {}).get("tree")
    return saved or (made if made and tree_here(run, made) else _pushed(run))


def tree_here(run: Run, tree: str) -> bool:
    """Not, if another host made it: trees are not on the forge, only what was pushed."""
    return run.tools.mirror.objects.find([tree])[0] is not None


def _pushed(run: Run) -> str | None:
    """The last candidate, which any host can have."""
    candidate = run.item.candidate
    return run.tools.mirror.tree(candidate) if candidate and run.tools.forge.have(candidate) else None


def _last_run(run: Run) -> int:
    """The run that wrote what lies in the workspace: the last one that sent an agent."""
    row = run.tools.db.one("last_agent_run", item=run.item.id, run=run.item.run_no)
    return int(row["run_no"]) if row and row["run_no"] else run.item.run_no


def save(run: Run, step: str, base: Sha, by: int | None = None) -> str | None:
    """All that is in the workspace becomes a commit of the story's snapshot chain, before anything is reset. `by` is
    the run that wrote it, if not this one."""
    item, run_no = run.item, by or run.item.run_no
    folder = run.tools.workspaces.whole(item.story_id)
    saved = run.tools.snapshots.save(folder, item.story_id, run_no=run_no, step=step, fence=item.fence, base=base)
    return saved.tree if saved else None
