"""The merge queue's rules, pure: each entry is tested on top of those ahead, and main moves to exactly what was tested.

One rule says what an entry does next, whoever asks and however often. An entry whose base is no longer what lies ahead
is built anew in its place; nobody is sent back while something unproven is ahead; whoever is red is passed by.
`engine/queue/places.py` acts by this on git and the database, a simulation in tests/domain on five hundred entries.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from damascus.domain.described import Described
from damascus.domain.ids import Sha


class EntryState(Described):
    """What is known of an entry on top of what lies ahead of it."""

    TESTING = "testing", "it is being judged there"
    GREEN = "green", "it was judged there and may land in its turn"
    RED = "red", "it failed there: those behind it pass it by"


@dataclass(frozen=True)
class QueueEntry:
    """A place in the queue: `commit`, which is exactly what main will be, sits on `base`."""

    item: int
    base: Sha
    commit: Sha
    state: EntryState = EntryState.TESTING


class Move(Described):
    """What an entry does next."""

    STACK = "stack", "it is built anew on top of what lies ahead"
    TEST = "test", "it is judged where it is"
    WAIT = "wait", "those ahead go first"
    LAND = "land", "main moves to it"
    LEAVE = "leave", "it failed on what is main: it gives up its place"


@dataclass(frozen=True)
class Turn:
    """The move, and what the entry must sit on; None is main."""

    move: Move
    ahead: QueueEntry | None = None


def nearest(ahead: Sequence[QueueEntry]) -> QueueEntry | None:
    """The last one ahead that has not failed: what comes next is tested on top of it."""
    return next((entry for entry in reversed(ahead) if entry.state != EntryState.RED), None)


def turn(
    mine: QueueEntry | None, ahead: Sequence[QueueEntry], on_main: Callable[[Sha], bool], main: Callable[[], Sha]
) -> Turn:
    """`ahead` in order; `on_main(sha)`: main contains it; `main()`: its tip. Asked only when nothing is ahead."""
    before = nearest(ahead)
    if mine is None:
        return Turn(Move.STACK, before)
    if before is not None:
        return Turn(_behind(mine, before), before)
    if mine.state == EntryState.RED and on_main(mine.base):
        return Turn(Move.LEAVE)  # tested on what is main, or was: its failure is its own
    if mine.base != main():
        return Turn(Move.LAND) if on_main(mine.commit) else Turn(Move.STACK)
    return Turn(Move.TEST if mine.state == EntryState.TESTING else Move.LAND)


def _behind(mine: QueueEntry, before: QueueEntry) -> Move:
    if mine.base != before.commit:
        return Move.STACK
    return Move.TEST if mine.state == EntryState.TESTING else Move.WAIT
