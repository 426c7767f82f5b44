"""Summaries that test runners print, where nothing reported: each runner's own is read by its stack."""

import re

from damascus.stacks import REGISTRY
from damascus.stacks.counts import Counts

ANSI = re.compile(r"\x1b\[[0-9;]{0,50}[A-Za-z]")
OUTCOMES = ("passed", "failed", "skipped", "xfailed", "xpassed")
LAST = 5
"""Lines that stand for the runner's own words where no summary of a known runner is recognised."""
NUMBER = re.compile(r"(?<!\d)(\d{1,9}) ([a-z]{1,20}(?: [a-z]{1,20})?)")
"""All patterns of summaries stop somewhere: a summary is short, and whoever writes a long one has not written one."""


def plain(output: str) -> str:
    return ANSI.sub("", output).replace("\r\n", "\n")


def read_printed(text: str) -> Counts | None:
    """The first runner that is recognised; None where nobody prints a count."""
    runners = sorted((each for stack in REGISTRY.values() for each in stack.runners), key=lambda each: each.loose)
    readers = (each.summary() for each in runners if each.summary is not None)
    return next((counts for read in readers if (counts := read(text)) is not None), None)


def summary_lines(output: str) -> str:
    """The runner's own last words, to the letter: the lines of its summary, or the last ones that were printed."""
    text = plain(output)
    patterns = (each.line for stack in REGISTRY.values() for each in stack.runners if each.line is not None)
    found = sorted({match.span() for pattern in patterns for match in pattern.finditer(text)})
    lines = [text[start:end].strip("\n") for start, end in found[-LAST * 4 :]]
    if not lines:
        lines = [line for line in text.splitlines() if line.strip()][-LAST:]
    return "\n".join(lines)


def printed_outcomes(summary: str) -> dict[str, int]:
    """How many tests ended how, by pytest's own last line; {} where it is no such line."""
    line = summary.rpartition("\n")[2]
    told = numbers(line.partition(" in ")[0])
    if not re.search(r" in [\d.]{1,20}s", line) or not {*OUTCOMES, "error", "errors"} & told.keys():
        return {}
    found = {name: told.get(name, 0) for name in OUTCOMES}
    found["failed"] += told.get("error", 0) + told.get("errors", 0)
    return found


def numbers(text: str) -> dict[str, int]:
    return {word: int(number) for number, word in NUMBER.findall(text)}
