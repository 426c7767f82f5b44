"""Removes workspaces that nobody needs, each only after its content is a snapshot, and branches of the queue."""

import shutil
import time

from damascus.domain.errors import TransientError
from damascus.domain.ids import Sha, StoryId
from damascus.domain.verdict import Phase
from damascus.engine.steps.push import drop_queue_branch
from damascus.engine.tools import Tools
from damascus.store.db import Row


def reap_workspaces(tools: Tools, now: float | None = None) -> int:
    """Finished stories' workspaces go after `keep_workspaces_hours`; blocked ones stay for the person."""
    keep = tools.read_config(tools.forge.main_tip()).limits.keep_workspaces_hours * 3600
    removed = 0
    for row in tools.db.all("finished_stories", repo=tools.project.repo_id, seconds=keep):
        story = StoryId(row["story_id"])
        if tools.workspaces.exists(story) and _queue_branch_is_gone(tools, row):
            base = Sha(row["base_commit"] or tools.forge.main_tip())
            tools.snapshots.save(
                tools.workspaces.path(story), story, run_no=row["run_no"], step="reap", fence=row["fence"], base=base
            )
            tools.workspaces.remove(story)
            removed += 1
    _sweep_checkouts(tools, now or time.time())
    return removed


def _queue_branch_is_gone(tools: Tools, row: Row) -> bool:
    """A story that was cancelled in the merge queue leaves its branch there. While the forge is away both stay."""
    if row["phase"] == Phase.CANCELLED and not tools.forge.runs_ci:
        try:
            drop_queue_branch(tools, row["uuid"])
        except TransientError:
            return False
    return True


def _sweep_checkouts(tools: Tools, now: float) -> None:
    """A killed worker leaves clean checkouts behind: they hold nothing of anybody's."""
    for folder in (tools.folder / "checkouts").glob("*"):
        if now - folder.stat().st_mtime > 3600:
            shutil.rmtree(folder, ignore_errors=True)
