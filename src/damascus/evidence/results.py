"""From a command that ended to what it proves: the reports of its runners, the exit code, the end of its output."""

import os
import shutil
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

from damascus.domain.ports import Case, Job, RunnerCall, TestRun
from damascus.domain.storable import clean
from damascus.evidence.environment import RunFolder
from damascus.evidence.reading import read_run
from damascus.stacks import runner_called
from damascus.stacks.cases import TreeAfterRun, cases_of, places_of
from damascus.stacks.counts import Counts
from damascus.stacks.locate import Locator
from damascus.stacks.reports import Reading
from damascus.stacks.told import FILES_LIMIT, SIZE_LIMIT
from damascus.system.masking import masked
from damascus.system.plain_file import read_plain
from damascus.system.process import Finished
from damascus.system.replacing import PRIVATE, replace_file
from damascus.system.seats import Seats

READ_BACK = 1_000_000
SUMMARY_LIMIT = 4_000
KEPT_REPORTS = 1_000_000
"""Bytes of one run's reports that stay with its log."""


def read_result(job: Job, place: RunFolder, seats: Seats, finished: Finished, secrets: Collection[str] = ()) -> TestRun:
    reports = _reports(place.reports)
    if not job.fresh:
        _keep_reports(job.log.with_suffix(".reports"), reports, secrets)
    reading = read_run(reports, _read_back(job.log, finished.tail))
    tree = TreeAfterRun(place.tree, read_plain)
    counts = _counted(reading, tree, seats.inside(place.tree))
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
        summary=clean(reading.summary, SUMMARY_LIMIT),
        counted=counts is not None,
        cases=list(counts.cases) if counts else [],
        passed=counts.passed if counts else 0,
        failed=counts.failed if counts else 0,
        skipped=counts.skipped if counts else 0,
        calls=[
            RunnerCall(runner=call.runner, folder=call.folder, words=call.words, places=places_of(call, tree))
            for call in reading.calls
        ],
    )


def _counted(reading: Reading, tree: TreeAfterRun, seen: str) -> Counts | None:
    """pytest's tests and those of other runners together; where runners reported, nothing that was printed counts."""
    locator = Locator(tree.root, seen)
    counts = reading.counts
    own = [locator.case(case) for case in counts.cases] if counts else []
    others: list[Case] = cases_of(reading.calls, tree)
    if not any(call.runner != "pytest" for call in reading.calls):
        return counts and Counts(tuple(own), counts.passed, counts.failed, counts.skipped)
    return Counts.of([*own, *others])


def _unloaded(reading: Reading, locator: Locator) -> Iterator[Case]:
    """A file that its runner could not even load stands for all tests in it, as one that can't be collected does."""
    for call in reading.calls:
        runner = runner_called(call.runner)
        for word in () if runner is not None and runner.names_unloaded else call.words:
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


def _keep_reports(folder: Path, reports: Mapping[str, bytes], secrets: Collection[str]) -> None:
    """Beside the log, as the runners wrote them, but for values of variables. A new run replaces the last one's."""
    if folder.exists():
        shutil.rmtree(folder, ignore_errors=True)
    room = KEPT_REPORTS
    for name, content in reports.items():
        folder.mkdir(parents=True, exist_ok=True)
        cut = content[:room]
        replace_file(folder / name, masked(cut.decode(errors="replace"), secrets), mode=PRIVATE)
        room -= len(cut)
        if room <= 0:
            return


def _read_back(log: Path, tail: str) -> str:
    """Names of failed tests may stand far above the end of a long output."""
    try:
        with log.open("rb") as file:
            file.seek(max(0, log.stat().st_size - READ_BACK))
            return file.read().decode("utf-8", errors="replace")
    except OSError:
        return tail
