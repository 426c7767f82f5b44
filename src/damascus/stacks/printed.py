"""Summaries that test runners print: unittest, node --test, vitest, jest, mocha, go test, cargo test, pytest."""

import re
from collections.abc import Callable
from dataclasses import dataclass

from damascus.domain.ports import Case
from damascus.stacks.counts import Counts, total_of

ANSI = re.compile(r"\x1b\[[0-9;]{0,50}[A-Za-z]")
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
NODE = re.compile(r"^(?:#|ℹ) (tests|pass|fail|cancelled|skipped|todo) (\d{1,9})$", re.M)
JEST = re.compile(r"^(Tests|Test Suites):[ \t]{1,20}([^\s][^\n]{0,200} total)$", re.M)
VITEST = re.compile(r"^ {0,20}(Tests|Test Files) {2,20}([^\s][^\n]{0,200}\)|no tests)$", re.M)
MOCHA = re.compile(r"^ {2}(\d{1,9}) (passing|failing|pending)\b", re.M)
GO_CASE = re.compile(r"^[ \t]{0,200}--- (PASS|FAIL|SKIP): (\S{1,500}) \(", re.M)
GO_PACKAGE = re.compile(r"^(?:ok|\?)[ \t]{1,20}\S{1,500}[ \t]{1,20}(\S[^\n]{0,300})$", re.M)
CARGO = re.compile(r"^test result: \w{1,20}\. (\d{1,9}) passed; (\d{1,9}) failed; (\d{1,9}) ignored", re.M)
CARGO_CASE = re.compile(r"^test (\S{1,500})(?: - should panic)? \.\.\. (ok|FAILED|ignored)", re.M)
NUMBER = re.compile(r"(?<!\d)(\d{1,9}) ([a-z]{1,20}(?: [a-z]{1,20})?)")
DETAIL = re.compile(r"([a-z ]{1,40})=(\d{1,9})")
"""All of these stop somewhere: a summary is short, and whoever writes a long one has not written a summary."""


def plain(output: str) -> str:
    return ANSI.sub("", output).replace("\r\n", "\n")


def read_printed(text: str) -> Counts | None:
    """The first runner that is recognised; None where nobody prints a count."""
    return next((counts for read in READERS if (counts := read(text)) is not None), None)


def _numbers(text: str) -> dict[str, int]:
    return {word: int(number) for number, word in NUMBER.findall(text)}


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
    told = _numbers(found[-1])
    failed = told.get("failed", 0) + told.get("error", 0) + told.get("errors", 0)
    return Counts((), told.get("passed", 0) + told.get("xpassed", 0), failed, told.get("skipped", 0))


def node_summary(text: str) -> Counts | None:
    rows = NODE.findall(text)
    starts = [n for n, (word, _) in enumerate(rows) if word == "tests"]
    blocks = [dict(rows[start : start + 7]) for start in starts]
    summaries = [
        Counts(
            (),
            int(block.get("pass", 0)),
            int(block.get("fail", 0)) + int(block.get("cancelled", 0)),
            int(block.get("skipped", 0)) + int(block.get("todo", 0)),
        )
        for block in blocks
        if "pass" in block
    ]
    return total_of(summaries)


def _suites(text: str, pattern: re.Pattern[str], suites: str) -> Counts | None:
    """jest and vitest: a suite that could not be loaded has failed though none of its tests did."""
    summaries, broken = [], 0
    for what, line in pattern.findall(text):
        told = _numbers(line)
        if what == suites:
            broken = told.get("failed", 0)
            continue
        failed = told.get("failed", 0) or broken
        summaries.append(Counts((), told.get("passed", 0), failed, told.get("skipped", 0) + told.get("todo", 0)))
    return total_of(summaries)


def jest_summary(text: str) -> Counts | None:
    return _suites(text, JEST, "Test Suites")


def vitest_summary(text: str) -> Counts | None:
    return _suites(text, VITEST, "Test Files")


def mocha_summary(text: str) -> Counts | None:
    told = {word: int(number) for number, word in MOCHA.findall(text)}
    return Counts((), told["passing"], told.get("failing", 0), told.get("pending", 0)) if "passing" in told else None


def go_summary(text: str) -> Counts | None:
    cases = [
        Case(id=name, status={"PASS": "passed", "FAIL": "failed", "SKIP": "skipped"}[word], text=name)  # type: ignore[arg-type]
        for word, name in GO_CASE.findall(text)
    ]
    if cases:
        return Counts.of(cases)
    packages = GO_PACKAGE.findall(text)
    nothing = packages and all("[no test files]" in rest or "[no tests to run]" in rest for rest in packages)
    return Counts() if nothing else None


def cargo_summary(text: str) -> Counts | None:
    """One line per binary, most of them empty: added up."""
    rows = [tuple(map(int, row)) for row in CARGO.findall(text)]
    if not rows:
        return None
    states = {"ok": "passed", "FAILED": "failed", "ignored": "skipped"}
    cases = tuple(
        Case(id=name, status=states[word], text=name)  # type: ignore[arg-type]
        for name, word in CARGO_CASE.findall(text)
    )
    passed, failed, skipped = (sum(column) for column in zip(*rows, strict=True))
    return Counts(cases, passed, failed, skipped)


READERS: tuple[Callable[[str], Counts | None], ...] = (
    unittest_summary,
    pytest_summary,
    node_summary,
    jest_summary,
    vitest_summary,
    cargo_summary,
    go_summary,
    mocha_summary,
)
