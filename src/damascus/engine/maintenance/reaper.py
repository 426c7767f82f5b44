"""Removes workspaces that nobody needs, each only after its content is a snapshot."""

import time

from damascus.domain.ids import Sha, StoryId
from damascus.engine.tools import Tools


def reap_workspaces(tools: Tools, now: float | None = None) -> int:
    """Finished stories' workspaces go after `keep_workspaces_hours`; blocked ones stay for the person."""
    keep = tools.read_config(tools.forge.main_tip()).limits.keep_workspaces_hours * 3600
    removed = 0
    for row in tools.db.all("finished_stories", repo=tools.project.repo_id, seconds=keep):
        story = StoryId(row["story_id"])
        if tools.workspaces.exists(story):
            base = Sha(row["base_commit"] or tools.forge.main_tip())
            tools.snapshots.save(
                tools.workspaces.path(story), story, run_no=row["run_no"], step="reap", fence=row["fence"], base=base
            )
            tools.workspaces.remove(story)
            removed += 1
    _sweep_checkouts(tools, now or time.time())
    return removed


def _sweep_checkouts(tools: Tools, now: float) -> None:
    """A killed worker leaves clean checkouts behind: they hold nothing of anybody's."""
    import shutil

    for folder in (tools.folder / "checkouts").glob("*"):
        if now - folder.stat().st_mtime > 3600:
            shutil.rmtree(folder, ignore_errors=True)
