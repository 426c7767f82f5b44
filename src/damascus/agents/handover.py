"""What passes between orchestrator and agent as files: the brief there, the report back.

A report is written by an agent, so it is read like anything a stranger left: a plain file of limited size, and only
what a database row can hold. Whatever else is found there counts as no report.
"""

import json
import os
import stat
from pathlib import Path

from damascus.domain.ports import Brief, Report
from damascus.domain.storable import storable
from damascus.system.output import make_way

REPORT_LIMIT = 1_000_000


def hand_over(brief: Brief, brief_file: Path, report_file: Path) -> None:
    """Write the brief; take away the report of an earlier try, which would pass for this one's."""
    make_way(brief_file)
    brief_file.write_text(brief.model_dump_json(by_alias=True, indent=2) + "\n", encoding="utf-8")
    make_way(report_file)


def bring_back(left: Path, report_file: Path) -> None:
    """The report from where the agent could write it to where it is kept."""
    data = _plain_content(left)
    if data is not None:
        make_way(report_file)
        report_file.write_bytes(data)


def read_report(path: Path) -> Report | None:
    """The agent's report; None when there is none, or only junk."""
    data = _plain_content(path)
    if data is None:
        return None
    try:
        told = storable(json.loads(data))
        return Report.model_validate({**told, "whole": told}) if isinstance(told, dict) else None
    except (ValueError, RecursionError):  # a ValidationError is a ValueError
        return None


def _plain_content(path: Path) -> bytes | None:
    """A regular file's content up to the limit: no link elsewhere, no FIFO that would keep us waiting."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        found = os.fstat(fd)
        if not stat.S_ISREG(found.st_mode) or found.st_size > REPORT_LIMIT:
            return None
        with os.fdopen(fd, "rb", closefd=False) as file:
            return file.read(REPORT_LIMIT)
    finally:
        os.close(fd)
