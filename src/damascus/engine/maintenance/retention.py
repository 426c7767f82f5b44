"""What goes by age, as [retention] of main says: passes, run folders, pictures, logs, events of how a story moved.

Never touched: whatever belongs to a story that is not done or cancelled; any story's row, journal and receipt; the
snapshots in the stories' store, and with them all that `rescue` needs. Looking tells exactly what pruning takes.
"""

import os
import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from damascus.domain.config import RetentionConfig
from damascus.domain.events import PASSING
from damascus.engine.tools import Tools
from damascus.store import retention
from damascus.store.retention import Old
from damascus.system.log_files import old_logs

KEPT_FOR_A_STORY = ("runs", "homes", "held-out")
DAY = 86400


@dataclass(frozen=True)
class AgeLimit:
    """One kind of things that go by age; `days` 0: they stay."""

    what: str
    days: int
    look: Callable[[int], Old]
    prune: Callable[[int], object]


def rules(tools: Tools, *, of_host: bool = True) -> list[AgeLimit]:
    """As main's damascus.toml says now. Log files are the host's, not the repository's."""
    keep: RetentionConfig = tools.read_config(tools.forge.main_tip()).retention
    db, repo = tools.db, tools.project.repo_id
    found = [
        AgeLimit("evidence", keep.evidence_days, lambda days: retention.old_evidence(db, repo, days),
             lambda days: retention.prune_evidence(db, repo, days)),
        AgeLimit("artifacts", keep.artifacts_days, lambda days: _sum(_old_folders(tools, days)),
             lambda days: _remove(_old_folders(tools, days))),
        AgeLimit("pictures", keep.artifacts_days, lambda days: retention.old_pictures(db, repo, days),
             lambda days: retention.prune_pictures(db, repo, days)),
        AgeLimit("events", keep.events_days, lambda days: retention.old_events(db, repo, days, PASSING),
             lambda days: retention.prune_events(db, repo, days, PASSING)),
    ]  # fmt: skip
    if of_host:
        logs = AgeLimit("logs", keep.logs_days, lambda days: _sum(old_logs(tools.home, days * DAY)),
                    lambda days: _remove(old_logs(tools.home, days * DAY)))  # fmt: skip
        found.insert(2, logs)
    return found


def apply_retention(tools: Tools, *, of_host: bool = True) -> None:
    for rule in rules(tools, of_host=of_host):
        if rule.days:
            rule.prune(rule.days)


def _old_folders(tools: Tools, days: int) -> Iterator[Path]:
    for row in tools.db.all("finished_stories", repo=tools.project.repo_id, seconds=float(days * DAY)):
        for kind in KEPT_FOR_A_STORY:
            folder = tools.folder / kind / row["story_id"]
            if folder.is_dir():
                yield folder
    for template in (tools.folder / "setup").glob("*/"):
        if time.time() - template.stat().st_atime > days * DAY:
            yield template


def _sum(paths: Iterator[Path]) -> Old:
    found = [(path.stat().st_mtime, _bytes(path)) for path in paths]
    oldest = datetime.fromtimestamp(min(at for at, _ in found), UTC) if found else None
    return Old(len(found), sum(size for _, size in found), oldest)


def _bytes(path: Path) -> int:
    if not path.is_dir():
        return path.stat().st_size
    inside = (os.path.join(folder, name) for folder, _, files in os.walk(path) for name in files)
    return sum(os.lstat(each).st_size for each in inside)


def _remove(paths: Iterator[Path]) -> None:
    for path in paths:
        shutil.rmtree(path, ignore_errors=True) if path.is_dir() else path.unlink(missing_ok=True)
