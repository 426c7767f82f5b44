"""From a command that ended to what it proves: the reports of its runners, the exit code, the end of its output."""

import os
from collections.abc import Iterator
from pathlib import Path

from damascus.domain.ports import Case, Job, RunnerCall, TestRun
from damascus.domain.storable import clean
from damascus.gates.environment import Place
from damascus.reading import read_run
from damascus.stacks.cases import Finder, cases_of
from damascus.stacks.counts import Counts
from damascus.stacks.locate import Locator
from damascus.stacks.reports import Reading
from damascus.stacks.told import FILES_LIMIT, SIZE_LIMIT
from damascus.system.plain_file import read_plain
from damascus.system.process import Finished
from damascus.system.seats import Seats

READ_BACK = 1_000_000


def read_result(job: Job, place: Place, seats: Seats, finished: Finished) -> TestRun:
    reading = read_run(_reports(place.reports), _read_back(job.log, finished.tail))
    finder = Finder(place.tree)
    counts = _counted(reading, finder, place.tree, seats.inside(place.tree))
    if counts is not None and reading.calls and not counts.cases and finished.exit_code:
        counts = Counts.of(_unloaded(reading, Locator(place.tree, seats.inside(place.tree))))
    return TestRun(
        command=job.command,
        tree=job.tree,
        exit_code=finished.exit_code,
        timed_out=finished.timed_out,
        seconds=finished.seconds,
        output=clean(finished.tail),
        log=str(job.log),
        counted=counts is not None,
        cases=list(counts.cases) if counts else [],
        passed=counts.passed if counts else 0,
        failed=counts.failed if counts else 0,
        skipped=counts.skipped if counts else 0,
        calls=[
            RunnerCall(runner=call.runner, folder=call.folder, words=call.words, places=finder.places(call))
            for call in reading.calls
        ],
    )


def _counted(reading: Reading, finder: Finder, tree: Path, seen: str) -> Counts | None:
    """pytest's tests and those of other runners together; where runners reported, nothing that was printed counts."""
    locator = Locator(tree, seen)
    counts = reading.counts
    own = [locator.case(case) for case in counts.cases] if counts else []
    others: list[Case] = cases_of(reading.calls, finder)
    if not any(call.runner != "pytest" for call in reading.calls):
        return counts and Counts(tuple(own), counts.passed, counts.failed, counts.skipped)
    return Counts.of([*own, *others])


def _unloaded(reading: Reading, locator: Locator) -> Iterator[Case]:
    """A file that its runner could not even load stands for all tests in it, as one that can't be collected does."""
    for call in reading.calls:
        for word in call.words if call.runner != "unittest" else ():  # it tells what it could not load
            file = None if word.startswith("-") else locator.path(os.path.normpath(os.path.join(call.folder, word)))
            if file is not None:
                yield Case(id=file, status="error", file=file, message=f"{call.runner} could not load it")


def _reports(folder: Path) -> dict[str, bytes]:
    """What lies in the report folder: plain files of a sane size. The code under test may find it too."""
    found: dict[str, bytes] = {}
    room = SIZE_LIMIT
    for path in sorted(folder.iterdir())[:FILES_LIMIT] if folder.is_dir() and not folder.is_symlink() else []:
        content = read_plain(path, room)
        if content is not None:
            found[path.name] = content
            room = max(0, room - len(content))
    return found


def _read_back(log: Path, tail: str) -> str:
    """Names of failed tests may stand far above the end of a long output."""
    try:
        with log.open("rb") as file:
            file.seek(max(0, log.stat().st_size - READ_BACK))
            return file.read().decode("utf-8", errors="replace")
    except OSError:
        return tail
