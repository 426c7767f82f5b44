"""What node --test, jest, vitest and mocha print at their end."""

import re

from damascus.stacks.counts import Counts, total_of
from damascus.stacks.printed import numbers

NODE = re.compile(r"^(?:#|ℹ) (tests|pass|fail|cancelled|skipped|todo) (\d{1,9})$", re.M)
JEST = re.compile(r"^(Tests|Test Suites):[ \t]{1,20}([^\s][^\n]{0,200} total)$", re.M)
VITEST = re.compile(r"^ {0,20}(Tests|Test Files) {2,20}([^\s][^\n]{0,200}\)|no tests)$", re.M)
MOCHA = re.compile(r"^ {2}(\d{1,9}) (passing|failing|pending)\b", re.M)


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
        told = numbers(line)
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
