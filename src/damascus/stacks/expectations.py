"""Tests that say what they expect, expecting something else.

Where a test passes, each assertion that stands plainly in its body was reached and held. With another value in the
place of the one that it names it can't hold, unless the answer calls itself equal to anything, or is taken from the
test. Only such assertions are changed: none in a branch, a loop or a block, none in a test that may return early.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from damascus.stacks.made_up import MadeUp
from damascus.stacks.trees import Node, nodes, text

NUMBER = re.compile(r"-?\d[\d_]*(?P<part>\.\d+)?(?P<suffix>_?[iuf](?:8|16|32|64|128|size))?")
STRING = re.compile(r"\"[^\"\\\n]*\"|'[^'\\\n]*'")


@dataclass(frozen=True)
class ExpectedValue:
    """Where a test names the value that it expects, in bytes, and what it says there."""

    test: str
    start: int
    end: int
    says: str


def other_value(says: str, made: MadeUp) -> str | None:
    """Another number or text of the same kind; small, so that it fits whatever held the first."""
    if number := NUMBER.fullmatch(says):
        drawn = next(n for n in iter(made.number, None) if str(n) not in says)
        return f"{drawn}{number['part'] or ''}{number['suffix'] or ''}"
    return f"{says[0]}{made.new_word()}{says[0]}" if STRING.fullmatch(says) else None


def changed(source: str, places: Iterable[ExpectedValue], made: MadeUp) -> tuple[str, tuple[str, ...]] | None:
    """One place of each test, drawn; None where there is none."""
    of_test: dict[str, list[ExpectedValue]] = {}
    for place in places:
        of_test.setdefault(place.test, []).append(place)
    drawn = [found[made.number(0, len(found) - 1)] for found in of_test.values()]
    data, names = source.encode(), []
    for place in sorted(drawn, key=lambda one: one.start, reverse=True):
        other = other_value(place.says, made)
        if other is not None:
            data = data[: place.start] + other.encode() + data[place.end :]
            names.append(place.test)
    return (data.decode(), tuple(names)) if names else None


def only_once(names: Iterable[str]) -> set[str]:
    """Of two tests with one name nobody knows which one a report means."""
    every = list(names)
    return {name for name in every if every.count(name) == 1}


def one_of_two(test: str, sides: list[Node], literals: tuple[str, ...]) -> Iterator[ExpectedValue]:
    """The one of two compared sides that is a literal, if the other is none."""
    said = [side for side in sides if _literal(side, literals)]
    if len(sides) == 2 and len(said) == 1:
        yield ExpectedValue(test, said[0].start_byte, said[0].end_byte, text(said[0]))


def _literal(node: Node, literals: tuple[str, ...]) -> bool:
    signed = node.type == "unary_expression" and text(node).startswith("-")
    return node.type in literals or (signed and node.children[-1].type in literals)


def may_end_early(body: Node, functions: tuple[str, ...]) -> bool:
    """Does it hold a `return` of its own, not of a function inside of it?"""
    returns = [node for node in nodes(body) if node.type in ("return_statement", "return_expression")]
    return any(_owner(node, functions) == body.parent for node in returns)


def _owner(node: Node, functions: tuple[str, ...]) -> Node | None:
    above = node.parent
    while above is not None and above.type not in functions:
        above = above.parent
    return above
