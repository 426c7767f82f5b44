"""Where an agent works: a fresh workspace at its starting point. What lay there before is saved first."""

from pydantic import BaseModel

from damascus.domain.ids import Sha
from damascus.domain.scope import Scope
from damascus.engine.run import Run
from damascus.git.workspaces import Workspace
from damascus.store.journal import left_processes


class StartingPoint(BaseModel):
    """Where an agent starts: its base, the tree of the work before it (if any) and what that was made on."""

    base: str
    start: str | None = None
    was: str | None = None
    checked: bool = False
    """Agents of this attempt made `start`, and each was checked. Else a role answers for all that is not on its base:
    what an earlier attempt may not have written is not allowed by being there."""


def end_leftovers(run: Run) -> None:
    """What an agent of an earlier claim left running, in whichever run, is ended before a new one starts."""
    if run.item.fence == 1 or run.tools.end_leftovers is None:
        return
    for process in left_processes(run.tools.db, run.item):
        run.tools.end_leftovers(process)


def fresh_workspace(run: Run, given: StartingPoint, *, resumes: bool) -> tuple[Workspace, StartingPoint]:
    """Snapshot what is there, then a new folder: the base, with the in-scope files of the work before. Also from where
    it really starts: with `resumes`, an agent that was killed goes on with what it left there."""
    spaces, story, base = run.tools.workspaces, run.item.story_id, Sha(given.base)
    start = given
    if spaces.exists(story):
        saved = save(run, "resume", base)
        if resumes:
            start = StartingPoint(base=given.base, start=saved, was=given.was if saved == given.start else None)
        run.assert_held()  # else a worker that woke up late takes the folder from under its heir's agent
        spaces.remove(story)
    if start.start is None:
        workspace = spaces.create(story, base)
    else:
        was = Sha(start.was) if start.was else None
        workspace = spaces.recreate(story, base, Sha(start.start), Scope(run.item.file_scope), was=was)
    run.tools.prepare_checkout(workspace.path)
    return workspace, start


def save(run: Run, step: str, base: Sha, by: int | None = None) -> str | None:
    """All that is in the workspace becomes a commit of the story's snapshot chain, before anything is reset. `by` is
    the run that wrote it, if not this one."""
    item, run_no = run.item, by or run.item.run_no
    folder = run.tools.workspaces.whole(item.story_id)
    saved = run.tools.snapshots.save(folder, item.story_id, run_no=run_no, step=step, fence=item.fence, base=base)
    return saved.tree if saved else None


def tree_here(run: Run, tree: str) -> bool:
    """Not, if another host made it: trees are not on the forge, only what was pushed."""
    return run.tools.mirror.objects.find([tree])[0] is not None
