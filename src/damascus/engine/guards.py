"""Is there room on this machine: for another story before a slot is filled, for its agent while it works?"""

import shutil
from pathlib import Path

FULL = 100_000
"""With fewer bytes free than this, whatever failed may have failed for want of them."""


def disk_is_full(folder: Path) -> bool:
    return shutil.disk_usage(folder).free < FULL


def disk_guard(folder: Path, reserve_mb: int) -> str | None:
    """None, or the sentence why nothing new is begun."""
    free = shutil.disk_usage(folder).free // 1_000_000
    if free >= reserve_mb:
        return None
    return f"only {free} MB are free in {folder}, the reserve is {reserve_mb} MB: free some, work goes on by itself"
