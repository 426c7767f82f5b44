"""A table of stories at any width: titles give way first, then words of what is done now; ids and phases never."""

from collections.abc import Sequence

from damascus.cli.say import cut, width_of
from damascus.store.views import StoryRow
from damascus.telling.now import tries, wordings
from damascus.telling.phrases import one_line, whole_words

STORY, TITLE, PHASE, NOW, TRY, TIME = range(6)
GAP = 2
LEAST_TITLE = 8
LEAST_NOW = 20
DROPPED: tuple[tuple[int, ...], ...] = ((), (TITLE,), (TITLE, TIME), (TITLE, TIME, TRY))
"""Columns that go when even short words do not fit, one after the other."""


def story_lines(
    rows: Sequence[StoryRow], times: Sequence[str], width: int, last: str = "since"
) -> tuple[str, list[str]]:
    """The head, and a line for each row; none is wider than `width` as long as ids and phases fit into it."""
    head = ["story", "title", "phase", "now", "try", last]
    said = [[one_line(each) for each in wordings(row)] for row in rows]
    cells = [
        [one_line(row.story_id), one_line(row.title), row.phase, words[0], tries(row), time]
        for row, words, time in zip(rows, said, times, strict=True)
    ]
    widths = _widths([head, *cells], said, width)
    kept = [n for n in range(len(head)) if widths[n]]
    for row, words in zip(cells, said, strict=True):
        row[NOW] = _that_fits(words, widths[NOW])
        row[TITLE] = whole_words(row[TITLE], widths[TITLE]) if row[TITLE].isascii() else row[TITLE]
    return _line(head, widths, kept), [_line(row, widths, kept) for row in cells]


def _widths(cells: list[list[str]], said: list[list[str]], room: int) -> list[int]:
    """0 is a column that is left out."""
    natural = [max(width_of(row[n]) for row in cells) for n in range(TIME + 1)]
    needed = max((_needed(words) for words in said), default=0)
    widths = natural
    for dropped in DROPPED:
        widths = [0 if n in dropped else width for n, width in enumerate(natural)]
        _give_way(widths, TITLE, LEAST_TITLE, room)
        _give_way(widths, NOW, needed, room)
        if _over(widths, room) <= 0:
            return widths
    _give_way(widths, NOW, len("now"), room)
    return widths


def _needed(words: list[str]) -> int:
    """What a person must type is never cut; of other words 20 are enough."""
    least = min(width_of(each) for each in words)
    return least if words[0].startswith("needs you") else min(least, LEAST_NOW)


def _over(widths: list[int], room: int) -> int:
    shown = [width for width in widths if width]
    return sum(shown) + GAP * (len(shown) - 1) - room


def _give_way(widths: list[int], column: int, least: int, room: int) -> None:
    widths[column] = max(widths[column] - max(_over(widths, room), 0), min(widths[column], least))


def _that_fits(words: list[str], width: int) -> str:
    """The longest of the wordings that fits, else the shortest, cut between words."""
    return next((each for each in words if width_of(each) <= width), whole_words(words[-1], width))


def _line(row: list[str], widths: list[int], kept: list[int]) -> str:
    shown = [cut(row[n], widths[n]) for n in kept]
    padded = [cell + " " * (widths[n] - width_of(cell)) for n, cell in zip(kept, shown, strict=True)]
    return (" " * GAP).join(padded).rstrip()
