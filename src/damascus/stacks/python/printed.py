"""What unittest and pytest print at their end."""

import re
from dataclasses import dataclass

from damascus.domain.ports import Case
from damascus.stacks.counts import Counts, total_of
from damascus.stacks.printed import numbers

UNITTEST = re.compile(
    r"^Ran (\d{1,9}) tests? in [\d.]{1,20}s\n\n(OK|FAILED|NO TESTS RAN)(?: \(([^)\n]{0,300})\))?[ \t]{0,20}$", re.M
)
UNITTEST_BAD = re.compile(r"^(FAIL|ERROR): (\S{1,500}) \(([\w.]{1,500})\)", re.M)
PYTEST = re.compile(
    r"^={0,200} ?((?:\d{1,9} (?:failed|passed|skipped|deselected|xfailed|xpassed|warnings?|errors?|rerun"
    r"|subtests passed|subtests failed|subtests skipped)(?:, )?){1,15}|no tests ran) in [\d.]{1,20}s"
    r"(?: \([\d:]{1,20}\))?(?: ={0,200})?$",
    re.M,
)
DETAIL = re.compile(r"([a-z ]{1,40})=(\d{1,9})")


def unittest_summary(text: str) -> Counts | None:
    summaries = []
    for ran, _, details in UNITTEST.findall(text):
        told = {key: int(value) for key, value in DETAIL.findall(details.replace(", ", ","))}
        failed = told.get("failures", 0) + told.get("errors", 0) + told.get("unexpected successes", 0)
        skipped = told.get("skipped", 0) + told.get("expected failures", 0)
        summaries.append(Counts((), max(0, int(ran) - failed - skipped), failed, skipped))
    counts = total_of(summaries)
    cases = tuple(_unittest_case(*match) for match in UNITTEST_BAD.findall(text))
    return counts and Counts(cases, counts.passed, counts.failed, counts.skipped)


@dataclass(frozen=True)
class Totals:
    """All of unittest's summaries together."""

    summaries: int
    ran: int
    failed: int


def unittest_totals(text: str) -> Totals | None:
    found = [(int(ran), word == "FAILED") for ran, word, _ in UNITTEST.findall(text)]
    return Totals(len(found), sum(ran for ran, _ in found), sum(failed for _, failed in found)) if found else None


def _unittest_case(word: str, name: str, dotted: str) -> Case:
    """Dotted here; a file's path once it is known where the module lies (locate.py)."""
    if "_FailedTest" in dotted:
        return Case(id=name, status="error", text=name, message="the test module could not be imported")
    full = dotted if dotted.rsplit(".", maxsplit=1)[-1] == name else f"{dotted}.{name}"
    return Case(id=full, status="failed" if word == "FAIL" else "error", text=full)


def pytest_summary(text: str) -> Counts | None:
    """The last line that pytest prints. A teardown error makes a test both passed and an error."""
    found = PYTEST.findall(text)
    if not found:
        return None
    told = numbers(found[-1])
    failed = told.get("failed", 0) + told.get("error", 0) + told.get("errors", 0)
    return Counts((), told.get("passed", 0) + told.get("xpassed", 0), failed, told.get("skipped", 0))
