"""Before a slot is filled: is there room for another story on this machine?"""

import shutil
from pathlib import Path


def disk_guard(folder: Path, reserve_mb: int) -> str | None:
    """None, or the sentence why nothing new is begun."""
    free = shutil.disk_usage(folder).free // 1_000_000
    if free >= reserve_mb:
        return None
    return f"only {free} MB are free in {folder}, the reserve is {reserve_mb} MB: free some, work goes on by itself"
