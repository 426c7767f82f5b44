"""Summaries that test runners print, where nothing reported: each runner's own is read by its stack."""

import re

from damascus.stacks import REGISTRY
from damascus.stacks.counts import Counts

ANSI = re.compile(r"\x1b\[[0-9;]{0,50}[A-Za-z]")
NUMBER = re.compile(r"(?<!\d)(\d{1,9}) ([a-z]{1,20}(?: [a-z]{1,20})?)")
"""All patterns of summaries stop somewhere: a summary is short, and whoever writes a long one has not written one."""


def plain(output: str) -> str:
    return ANSI.sub("", output).replace("\r\n", "\n")


def read_printed(text: str) -> Counts | None:
    """The first runner that is recognised; None where nobody prints a count."""
    runners = sorted((each for stack in REGISTRY.values() for each in stack.runners), key=lambda each: each.loose)
    readers = (each.summary() for each in runners if each.summary is not None)
    return next((counts for read in readers if (counts := read(text)) is not None), None)


def numbers(text: str) -> dict[str, int]:
    return {word: int(number) for number, word in NUMBER.findall(text)}
