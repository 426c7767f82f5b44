"""The merge queue's rules, pure: each entry is tested on top of those ahead, and main moves to exactly what was tested.

One rule says what an entry does next, whoever asks and however often. An entry whose base is no longer what lies ahead
is built anew in its place; nobody is sent back while something unproven is ahead; whoever is red is passed by.
`engine/line.py` acts by this on git and the database, a simulation in tests/domain on five hundred entries.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

from damascus.domain.ids import Sha

State = Literal["testing", "green", "red"]


@dataclass(frozen=True)
class Entry:
    """A place in the queue: `commit`, which is exactly what main will be, sits on `base`."""

    item: int
    base: Sha
    commit: Sha
    state: State = "testing"


class Move(StrEnum):
    """What an entry does next."""

    STACK = "stack"
    TEST = "test"
    WAIT = "wait"
    LAND = "land"
    LEAVE = "leave"


@dataclass(frozen=True)
class Turn:
    """The move, and what the entry must sit on; None is main."""

    move: Move
    ahead: Entry | None = None


def nearest(ahead: Sequence[Entry]) -> Entry | None:
    """The last one ahead that has not failed: what comes next is tested on top of it."""
    return next((entry for entry in reversed(ahead) if entry.state != "red"), None)


def turn(mine: Entry | None, ahead: Sequence[Entry], on_main: Callable[[Sha], bool], main: Callable[[], Sha]) -> Turn:
    """`ahead` in order; `on_main(sha)`: main contains it; `main()`: its tip. Asked only when nothing is ahead."""
    before = nearest(ahead)
    if mine is None:
        return Turn(Move.STACK, before)
    if before is not None:
        return Turn(_behind(mine, before), before)
    if mine.state == "red" and on_main(mine.base):
        return Turn(Move.LEAVE)  # tested on what is main, or was: its failure is its own
    if mine.base != main():
        return Turn(Move.LAND) if on_main(mine.commit) else Turn(Move.STACK)
    return Turn(Move.TEST if mine.state == "testing" else Move.LAND)


def _behind(mine: Entry, before: Entry) -> Move:
    if mine.base != before.commit:
        return Move.STACK
    return Move.TEST if mine.state == "testing" else Move.WAIT
