"""Is there room on this machine (X10): for another story before a slot is filled, for its agent while it works?"""

import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from damascus.domain.config import LimitsConfig

FULL = 100_000
"""With fewer bytes free than this, whatever failed may have failed for want of them."""


def disk_is_full(folder: Path) -> bool:
    return shutil.disk_usage(folder).free < FULL


def guard(folder: Path, limits: "LimitsConfig") -> str | None:
    """None, or the sentence why nothing new is begun."""
    return disk_guard(folder, limits.disk_reserve_mb) or load_guard(limits.load_per_core, *machine_load())


def disk_guard(folder: Path, reserve_mb: int) -> str | None:
    free = shutil.disk_usage(folder).free // 1_000_000
    if free >= reserve_mb:
        return None
    return f"only {free} MB are free in {folder}, the reserve is {reserve_mb} MB: free some, work goes on by itself"


def load_guard(per_core: float, load: float, cores: int) -> str | None:
    """`per_core` 0: not looked at. What already runs goes on; the load falls when it ends."""
    if per_core == 0 or load <= per_core * cores:
        return None
    return (
        f"the load of this machine is {load:.1f} on {cores} cores, the limit is {per_core:g} per core "
        "([limits] load_per_core): nothing new is begun until it falls"
    )


def machine_load() -> tuple[float, int]:
    """The load of the last minute, and the cores that this process may use."""
    return os.getloadavg()[0], len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
