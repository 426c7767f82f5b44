"""What ran, by the runner's own report: its calls as our programs read them (runners/), pytest's JUnit file, else the
summary that a runner prints.

The limit: tests run in the runner's own process, so code under test can write both the file and the line. What
we can do is done: the file lies outside the checkout, both must agree, the exit code always counts, names and
markers are read from the source, and a runner that is named by the command but leaves no count has not passed.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from damascus.domain.ports import Case
from damascus.stacks import REGISTRY
from damascus.stacks.counts import Counts
from damascus.stacks.junit import read_junit
from damascus.stacks.printed import plain, read_printed, summary_lines
from damascus.stacks.python.printed import pytest_summary, unittest_totals
from damascus.stacks.stack import word
from damascus.stacks.told import ReportedCall, read_calls

MISMATCH = "damascus: the report and the summary differ"
BEHIND = re.compile(word("(?:make|gmake|just|task|npm|yarn|pnpm|npx)"))
PYTEST_FILE = "pytest.xml"


@dataclass(frozen=True)
class Reading:
    """`counts` is what pytest reported, or what was printed where nobody reported; `calls` what other runners did."""

    counts: Counts | None
    calls: tuple[ReportedCall, ...] = ()
    summary: str = ""
    """The runner's own last words."""


def read_run(files: Mapping[str, bytes], output: str) -> Reading:
    """All of a run: the files of its report folder by name, and what it printed."""
    calls = tuple(read_calls(files))
    report = files.get(PYTEST_FILE)
    counts = count(report, output) if report or not calls else None
    if not _unittest_agrees(calls, output):
        counts = _mismatch(counts or Counts(), "what unittest told and what it printed are different")
    reported = report is not None and read_junit(report) is not None
    return Reading(counts, (*calls, ReportedCall("pytest")) if reported else calls, summary_lines(output))


def count(report: bytes | None, output: str) -> Counts | None:
    """The counts of a run, None where no count can be had. A JUnit report wins over anything printed."""
    text = plain(output)
    reported = read_junit(report) if report else None
    if reported is None:
        return read_printed(text)
    printed = pytest_summary(text)
    if printed is None or _agree(reported, printed):
        return reported
    return _mismatch(reported, "the JUnit report and pytest's summary line tell different counts")


def _agree(reported: Counts, printed: Counts) -> bool:
    """A teardown error counts twice in the summary, so only what would hide a failure or invent a pass is told."""
    return (reported.failed > 0) == (printed.failed > 0) and reported.passed <= printed.passed


def _unittest_agrees(calls: Sequence[ReportedCall], output: str) -> bool:
    """Only what is better than the printed summaries is told: a run inside of a test prints one, too."""
    own = [call for call in calls if call.runner == "unittest"]
    printed = unittest_totals(plain(output)) if own else None
    if printed is None:
        return True
    states = [told.status for call in own for told in call.tests]
    failed = any(state in ("failed", "error") for state in states) or any(call.end is None for call in own)
    every = printed.summaries >= len(own)
    return (failed or printed.failed == 0) and (not every or states.count("passed") <= printed.ran)


def _mismatch(reported: Counts, message: str) -> Counts:
    case = Case(id=MISMATCH, status="error", message=message)
    return Counts(cases=(case, *reported.cases), failed=reported.failed + 1, skipped=reported.skipped)


def expects_count(command: str) -> bool:
    """Does the command name a runner that always tells its count? Then a missing count is a run that was cut off."""
    return any(stack.counts.search(command) for stack in REGISTRY.values() if stack.counts is not None)


def named_stacks(command: str) -> set[str]:
    """The stacks whose known runner the command names by a word."""
    return {stack.name for stack in REGISTRY.values() if stack.named is not None and stack.named.search(command)}


def hides_its_runner(command: str) -> bool:
    """A target of make or npm: which runner it starts is written elsewhere."""
    return BEHIND.search(command) is not None
