"""V8's ranges of characters, with how often each ran, as lines."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

DEFINES = re.compile(
    r"\s*(?:export\s+)?(?:default\s+)?(?:(?:const|let|var)\s+[\w$]+\s*(?::[^=]{0,200})?=\s*)?(?:async\s*)?"
    r"(?:function\b|\([^()]{0,200}\)\s*(?::[^=]{0,200})?=>|[\w$]+\s*=>)"
)
MOST = 200_000
"""Ranges of one script: beyond that nothing is told."""


@dataclass(frozen=True)
class Range:
    start: int
    end: int
    count: int
    function: bool
    """The whole of a function, not a part of one."""


def ranges_of(told: dict[str, Any]) -> Iterator[tuple[str, list[Range]]]:
    """By the script's address, outer ones first. What is no such report is skipped."""
    scripts = told.get("result")
    for script in scripts if isinstance(scripts, list) else []:
        if isinstance(script, dict) and isinstance(script.get("url"), str):
            found = sorted(_ranges(script), key=lambda one: (one.start, -one.end))
            yield script["url"], found[:MOST] if len(found) <= MOST else []


def _ranges(script: dict[str, Any]) -> Iterator[Range]:
    functions = script.get("functions")
    for function in functions if isinstance(functions, list) else []:
        inside = function.get("ranges") if isinstance(function, dict) else None
        for at, one in enumerate(inside if isinstance(inside, list) else []):
            if isinstance(one, dict):
                match one.get("startOffset"), one.get("endOffset"), one.get("count"):
                    case int(start), int(end), int(count):
                        yield Range(start, end, count, at == 0)


def counts_at(offsets: list[int], ranges: list[Range]) -> list[int]:
    """How often the innermost range around each offset ran. Offsets and ranges are in order."""
    found, open_ranges, at = [], list[Range](), 0
    for offset in offsets:
        while at < len(ranges) and ranges[at].start <= offset:
            open_ranges.append(ranges[at])
            at += 1
        while open_ranges and open_ranges[-1].end <= offset:
            open_ranges.pop()
        inside = [one for one in open_ranges[-8:] if one.end > offset]
        found.append(inside[-1].count if inside else 0)
    return found


def units(text: str) -> int:
    """Characters as V8 counts them."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


def ran_lines(text: str, ranges: list[Range]) -> set[int]:
    """Lines whose first word ran; not one that only gives a name to a function which nobody called."""
    lines = text.split("\n")
    starts = [0, *accumulate(units(line) + 1 for line in lines)][: len(lines)]
    first = [start + units(line[: len(line) - len(line.lstrip())]) for start, line in zip(starts, lines, strict=True)]
    ran = {line for line, count in enumerate(counts_at(first, ranges), 1) if count}
    called, uncalled = set[int](), set[int]()
    for one, line in zip(_functions(ranges), _lines_of(_functions(ranges), starts), strict=True):
        (called if one.count else uncalled).add(line)
    return ran - named_functions(lines, uncalled - called)


def named_functions(lines: list[str], among: set[int]) -> set[int]:
    """Of these lines, those that define a function: what else runs there is its definition."""
    return {line for line in among if 0 < line <= len(lines) and DEFINES.match(lines[line - 1][:400])}


def _functions(ranges: list[Range]) -> list[Range]:
    """All but the script itself."""
    return [one for one in ranges if one.function and one.start > 0]


def _lines_of(functions: list[Range], starts: list[int]) -> list[int]:
    found, line = [], 0
    for one in functions:
        while line < len(starts) and starts[line] <= one.start:
            line += 1
        found.append(line)
    return found
