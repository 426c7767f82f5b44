"""Reading what agents wrote: sources of tests, reports and output of runners, in a process of its own.

One long expression or one deep syntax tree under the interpreter's lock would hold every slot of the worker. What can't
be read in time is the story's failure: a file without tests, a report that says so. That the reading process can't be
asked at all is nobody's: it is tried again later.
"""

import threading
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from damascus.domain.errors import TransientError
from damascus.domain.ports import Case
from damascus.scanning.scanner import ScanFailed, Scanner, TooMuchToRead
from damascus.stacks import WrittenFile, stack_of
from damascus.stacks.counts import Counts
from damascus.stacks.reports import Reading
from damascus.stacks.wire import file_of, packed, reading_of
from damascus.stacks.written import READ_LIMIT

KEPT = 256
UNREAD = "damascus: the report can't be read"
_lock = threading.Lock()
_readers: list[Scanner] = []


def tests_in(source: bytes, path: str) -> WrittenFile:
    """As stacks.tests_in, whatever the source is."""
    stack = stack_of(path)
    if stack is None or not source:
        return WrittenFile()
    if len(source) > READ_LIMIT:
        return WrittenFile(unread=True)
    return _tests_in(source, f"x{stack.extensions[0]}")


@lru_cache(maxsize=KEPT)
def _tests_in(source: bytes, path: str) -> WrittenFile:
    try:
        return file_of(_call("tests_in", path=path, source=packed(source)))
    except TooMuchToRead:
        return WrittenFile(unread=True)


def read_run(files: Mapping[str, bytes], output: str) -> Reading:
    """As stacks.reports.read_run; a report that was made to be unreadable is a failed one."""
    try:
        packed_files = {name: packed(data) for name, data in files.items()}
        return reading_of(_call("read_run", files=packed_files, output=output))
    except TooMuchToRead as err:
        return Reading(Counts.of([Case(id=UNREAD, status="error", message=str(err))]))


def _call(name: str, **given: Any) -> Any:
    try:
        return _reader().call(name, **given)
    except TooMuchToRead:
        raise
    except ScanFailed as err:
        raise TransientError(f"what an agent wrote could not be read: {err}") from err


def _reader() -> Scanner:
    """One for the whole process, started with the first question."""
    with _lock:
        if not _readers:
            _readers.append(Scanner.reader())
        return _readers[0]
