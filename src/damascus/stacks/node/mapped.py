"""Lines of what was compiled before it ran, by the source map that V8 kept beside its count."""

from collections.abc import Callable, Iterator
from itertools import accumulate
from typing import Any

from damascus.stacks.node.ranges import Range, counts_at

DIGITS = {sign: at for at, sign in enumerate("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")}
MOST = 5_000_000
"""Characters of one map."""


def mapped_lines(
    known: dict[str, Any], ranges: list[Range], below: Callable[[str], str | None]
) -> Iterator[tuple[str, set[int]]]:
    """By path in the tree. What is no map tells nothing."""
    data, lengths = known["data"], known.get("lineLengths")
    sources, mappings = data.get("sources"), data.get("mappings")
    if not isinstance(mappings, str) or not isinstance(sources, list) or not isinstance(lengths, list):
        return
    if len(mappings) > MOST or not all(isinstance(one, int) for one in lengths):
        return
    starts = [0, *accumulate(one + 1 for one in lengths)]
    places = [
        (starts[line] + column, source, at) for line, column, source, at in _segments(mappings) if line < len(starts)
    ]
    places.sort()
    found: dict[int, set[int]] = {}
    for (_, source, line), count in zip(places, counts_at([one[0] for one in places], ranges), strict=True):
        if count:
            found.setdefault(source, set()).add(line + 1)
    for source, lines in found.items():
        name = sources[source] if 0 <= source < len(sources) else None
        path = below(name) if isinstance(name, str) else None
        if path is not None:
            yield path, lines


def _segments(mappings: str) -> Iterator[tuple[int, int, int, int]]:
    """Line and column of what ran, number of the source, and line there; all from 0."""
    source, at = 0, 0
    for line, said in enumerate(mappings.split(";")):
        column = 0
        for segment in said.split(",") if said else ():
            numbers = _numbers(segment)
            column += numbers[0] if numbers else 0
            if len(numbers) >= 4:
                source, at = source + numbers[1], at + numbers[2]
                yield line, column, source, at


def _numbers(segment: str) -> list[int]:
    found, value, shift = [], 0, 0
    for sign in segment[:64]:
        digit = DIGITS.get(sign, 0)
        value |= (digit & 31) << shift
        shift += 5
        if not digit & 32:
            found.append(-(value >> 1) if value & 1 else value >> 1)
            value, shift = 0, 0
    return found
