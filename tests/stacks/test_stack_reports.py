"""Counting tests by what runners write and print."""

import pytest

from damascus.stacks.counts import Counts
from damascus.stacks.junit import SIZE_LIMIT, read_junit
from damascus.stacks.printed import read_printed
from damascus.stacks.reports import count, expects_count

CASE = '<testcase classname="tests.test_a" name="test_a" file="tests/test_a.py"/>'


def junit(body: str) -> bytes:
    return f"<testsuites><testsuite>{body}</testsuite></testsuites>".encode()


def numbers(counts: Counts | None) -> tuple[int, int, int] | None:
    return None if counts is None else (counts.passed, counts.failed, counts.skipped)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"no xml",
        b"<html/>",
        b"<testsuites>",
        b'<!DOCTYPE a [<!ENTITY b "c">]><testsuites>&b;</testsuites>',
        junit(CASE).decode().encode("utf-16"),
        b"<testsuites>\x00</testsuites>",
        b"<testsuites>\xff</testsuites>",
        b" " * (SIZE_LIMIT + 1),
    ],
)
def test_junk_is_no_count(data: bytes) -> None:
    assert read_junit(data) is None


def test_an_empty_report_is_a_count_of_zero() -> None:
    assert numbers(read_junit(junit(""))) == (0, 0, 0)


def test_the_report_wins_over_what_is_printed() -> None:
    assert numbers(count(junit(CASE), "Ran 5 tests in 0.1s\n\nOK\n")) == (1, 0, 0)


@pytest.mark.parametrize("line", ["1 failed in 0.1s", "1 failed, 1 passed in 0.1s", "no tests ran in 0.01s"])
def test_a_summary_that_differs_from_the_report_is_no_pass(line: str) -> None:
    counts = count(junit(CASE), f"..\n{line}\n")
    assert counts is not None and counts.passed == 0 and counts.failed > 0


@pytest.mark.parametrize(
    "line",
    ["1 passed in 0.1s", "==== 1 passed, 2 warnings in 61.00s (0:01:01) ====", "\x1b[32m1 passed in 0.1s\x1b[0m"],
)
def test_a_summary_that_agrees_changes_nothing(line: str) -> None:
    assert numbers(count(junit(CASE), f"..\n{line}\n")) == (1, 0, 0)


NODE = "# tests 4\n# suites 0\n# pass 2\n# fail 1\n# cancelled 0\n# skipped 1\n# todo 0\n# duration_ms 5\n"
CARGO = (
    "running 2 tests\ntest a ... ok\ntest b ... FAILED\n\n"
    "test result: FAILED. 1 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out\n"
    "test result: ok. 0 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out\n"
)


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        ("Ran 3 tests in 0.001s\n\nOK\n", (3, 0, 0)),
        ("Ran 3 tests in 0.001s\n\nOK (skipped=1, expected failures=1)\n", (1, 0, 2)),
        ("Ran 3 tests in 0.001s\n\nFAILED (failures=1, errors=1)\n", (1, 2, 0)),
        ("Ran 0 tests in 0.000s\n\nOK\n", (0, 0, 0)),
        ("Ran 0 tests in 0.000s\n\nNO TESTS RAN\n", (0, 0, 0)),
        ("Ran 0 tests in 0.0s\n\nOK\nRan 5 tests in 0.1s\n\nOK\n", (0, 0, 0)),
        ("Ran 2 tests in 0.0s\n\nOK\nRan 5 tests in 0.1s\n\nOK\n", (7, 0, 0)),
        ("2 failed, 3 passed, 1 skipped in 0.1s\n", (3, 2, 1)),
        (NODE, (2, 1, 1)),
        (NODE.replace("#", "ℹ"), (2, 1, 1)),
        ("Test Suites: 1 passed, 1 total\nTests:       1 skipped, 2 passed, 3 total\n", (2, 0, 1)),
        ("Test Suites: 1 failed, 1 total\nTests:       0 total\n", (0, 1, 0)),
        (" Test Files  1 passed (1)\n      Tests  1 failed | 2 passed (3)\n", (2, 1, 0)),
        (" Test Files  1 failed (1)\n      Tests  no tests\n", (0, 1, 0)),
        (CARGO, (1, 1, 1)),
        ("=== RUN TestA\n--- PASS: TestA (0.00s)\n--- SKIP: TestB (0.00s)\nok a 0.1s\n", (1, 0, 1)),
        ("?   a  [no test files]\nok   b  0.1s [no tests to run]\n", (0, 0, 0)),
        ("  3 passing (5ms)\n  1 failing\n", (3, 1, 0)),
    ],
)
def test_summaries_that_runners_print(output: str, expected: tuple[int, int, int]) -> None:
    assert numbers(read_printed(output)) == expected


@pytest.mark.parametrize("output", ["", "all fine\n", "ok   a  0.1s\n", "I ran 5 tests in my head\n"])
def test_where_no_count_is_told_there_is_none(output: str) -> None:
    assert read_printed(output) is None


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("pytest -q", True),
        (".venv/bin/python -m pytest tests", True),
        ("ruff check . && pytest", True),
        ("python -m unittest", True),
        ("cat pytest.ini", False),
        ("./pytest_all.sh", False),
        ("make test", False),
    ],
)
def test_runners_that_always_tell_a_count(command: str, expected: bool) -> None:
    assert expects_count(command) is expected
