"""Keeps the disk free: packs the mirror now and then, removes old run folders of finished stories."""

import shutil

from damascus.engine.tools import Tools

KEEP_DAYS = 30


def prune_logs(tools: Tools) -> int:
    removed = 0
    for row in tools.db.all("finished_stories", project=tools.project.id, seconds=KEEP_DAYS * 86400):
        folder = tools.folder / "runs" / row["story_id"]
        if folder.exists():
            shutil.rmtree(folder, ignore_errors=True)
            removed += 1
    return removed
