"""Keeps the disk free: old run folders and homes of finished stories go, unused set-ups too, the mirror is packed."""

import shutil
import time
from pathlib import Path

from damascus.engine.tools import Tools

KEEP_DAYS = 30
KEPT_FOR_A_STORY = ("runs", "homes", "held-out")
MANY_LOOSE = 40
"""Of 256 folders of loose objects one is counted: 40 there are about 10,000 in all."""


def prune(tools: Tools) -> int:
    """How many folders were removed."""
    removed = 0
    for row in tools.db.all("finished_stories", repo=tools.project.repo_id, seconds=KEEP_DAYS * 86400):
        for kind in KEPT_FOR_A_STORY:
            removed += _remove(tools.folder / kind / row["story_id"])
    for template in (tools.folder / "setup").glob("*/"):
        if time.time() - template.stat().st_atime > KEEP_DAYS * 86400:
            removed += _remove(template)
    places = (tools.mirror.path, tools.mirror.store)
    if any(len(list((place / "objects" / "17").glob("*"))) > MANY_LOOSE for place in places):
        tools.mirror.gc()
    return removed


def _remove(folder: Path) -> int:
    if not folder.exists():
        return 0
    shutil.rmtree(folder, ignore_errors=True)
    return 1
