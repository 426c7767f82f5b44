"""What known runners reported: the lines that our programs and reporters wrote, one file for each call of a runner.

A file may have been written by the tests themselves, so all of it is junk until it is read: capped, line by line, and
what is no line of ours says that the report can't be read.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

SIZE_LIMIT = 20_000_000
FILES_LIMIT = 2_000
LINE_LIMIT = 2_000_000
NAME_LIMIT = 1_000
STATES = frozenset({"passed", "failed", "error", "skipped", "xfailed", "started"})
"""`started`: nothing else was told of it yet."""


@dataclass(frozen=True)
class ReportedTest:
    """One test as its runner told it. `group`: Go's package, Rust's binary, for Python the test in a source that it was
    made from; `file`: where the runner said it lies."""

    name: str
    status: str
    group: str = ""
    file: str = ""
    message: str = ""


@dataclass
class ReportedCall:
    """One call of a runner. `groups` are its packages and how each ended; `end` None: it was cut off."""

    runner: str
    folder: str = "."
    root: str = ""
    words: list[str] = field(default_factory=list)
    tests: list[ReportedTest] = field(default_factory=list)
    groups: dict[str, str] = field(default_factory=dict)
    sources: list[str] = field(default_factory=list)
    end: int | None = None
    broken: bool = False


def read_calls(files: Mapping[str, bytes]) -> list[ReportedCall]:
    """All calls in the files of a report folder, by file name."""
    calls = []
    for name in sorted(files):
        if name.endswith(".jsonl"):
            calls.append(_read_lines(files[name] + b"\n" + files.get(f"{name}.tests", b"")))
    return calls


def _read_lines(data: bytes) -> ReportedCall:
    call = ReportedCall("unknown", broken=True)
    for number, line in enumerate(data.split(b"\n")):
        if not line:
            continue
        record = _json(line)
        if number == 0 and isinstance(record.get("runner"), str):
            folder, root = _text(record.get("folder", ".")), _text(record.get("root", ""))
            call = ReportedCall(_text(record["runner"]), folder, root, _texts(record.get("words")))
        elif not _take(call, record):
            call.broken = True
    return call


def _json(line: bytes) -> dict[str, Any]:
    try:
        record = json.loads(line) if len(line) <= LINE_LIMIT else None
    except (ValueError, RecursionError):
        record = None
    return record if isinstance(record, dict) else {}


def _take(call: ReportedCall, record: Mapping[str, Any]) -> bool:
    if "test" in record and record.get("status") in STATES:
        call.tests.append(
            ReportedTest(
                _text(record["test"]),
                record["status"],
                _text(record.get("in", "")),
                _text(record.get("file", "")),
                _text(record.get("message", "")),
            )
        )
    elif "group" in record:
        call.groups[_text(record["group"])] = _text(record.get("status", ""))
    elif "sources" in record:
        call.sources = _texts(record["sources"])
    elif isinstance(record.get("end"), int):
        call.end = record["end"]
    else:
        return False
    return True


def _text(value: object) -> str:
    return value[:NAME_LIMIT].encode("utf-8", "replace").decode() if isinstance(value, str) else ""


def _texts(values: object) -> list[str]:
    return [_text(value) for value in values[:5000]] if isinstance(values, list) else []
