"""What passes between orchestrator and agent as files: the brief there, the report back.

A report is written by an agent, so it is read like anything a stranger left: a plain file of limited size, and only
what a database row can hold. Of whatever else is found there only the reason is kept why it is no report.
"""

import os
import stat
from pathlib import Path

from pydantic import ValidationError

from damascus.domain.ports import Brief, Report
from damascus.domain.storable import clean, storable
from damascus.domain.strict_json import Unreadable, read_json
from damascus.system.output import make_way

REPORT_LIMIT = 1_000_000


def hand_over(brief: Brief, brief_file: Path, report_file: Path) -> None:
    """Write the brief; take away the report of an earlier try, which would pass for this one's."""
    make_way(brief_file)
    brief_file.write_text(brief.model_dump_json(by_alias=True, indent=2) + "\n", encoding="utf-8")
    make_way(report_file)


def read_report(left: Path, keep: Path | None = None) -> Report | None:
    """The agent's report from where it could write it, copied to where it is kept; None when there is none."""
    try:
        data = _plain_content(left)
        if data is None:
            return None
        if keep is not None:
            make_way(keep)
            keep.write_bytes(data)
        return _report(data)
    except Unreadable as err:
        return Report(unreadable=clean(str(err), 500))


def _report(data: bytes) -> Report:
    try:
        told = storable(read_json(data))
        if not isinstance(told, dict):
            raise Unreadable("is no JSON object")
        return Report.model_validate({**told, "whole": told, "unreadable": ""})
    except RecursionError:
        raise Unreadable("is nested too deeply") from None
    except ValidationError as err:
        first = err.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise Unreadable(f"can't be used: {where}: {' '.join(first['msg'].split())}") from None


def _plain_content(path: Path) -> bytes | None:
    """A regular file's content up to the limit: no link elsewhere, no FIFO that would keep us waiting."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as err:
        if not os.path.lexists(path):
            return None
        raise Unreadable("is a link" if path.is_symlink() else f"can't be opened: {err.strerror}") from None
    try:
        found = os.fstat(fd)
        if not stat.S_ISREG(found.st_mode):
            raise Unreadable("is no plain file")
        if found.st_size > REPORT_LIMIT:
            raise Unreadable(f"is larger than {REPORT_LIMIT:,} bytes")
        with os.fdopen(fd, "rb", closefd=False) as file:
            return file.read(REPORT_LIMIT)
    finally:
        os.close(fd)
