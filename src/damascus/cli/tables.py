"""Tables, laid out by rich: as wide as they must be, at most as wide as the screen."""

import io
from collections.abc import Sequence

from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from damascus.cli.say import columns
from damascus.telling.phrases import one_line

GAP = 2
LEAST = 8
"""Cells that a column keeps which gives way, or those of its head."""


def table(head: Sequence[str], rows: Sequence[Sequence[str]], shrink: Sequence[int] = (), lead: int = 2) -> list[str]:
    """Its lines, without colour. The columns `shrink` give way, an ellipsis says so; the others are always whole.
    `lead` is what the caller puts before each line."""
    cells = [[one_line(cell) for cell in row] for row in (head, *rows)]
    drawn = Table(box=None, padding=(0, GAP, 0, 0), pad_edge=False, show_header=False)
    for n, name in enumerate(cells[0]):
        drawn.add_column(min_width=max(cell_len(name), LEAST) if n in shrink else None, no_wrap=n not in shrink)
    for row in cells:
        drawn.add_row(*(Text(cell, no_wrap=True, overflow="ellipsis") for cell in row))
    console = Console(
        file=io.StringIO(), width=max(columns() - lead, _least(cells, shrink)), color_system=None, legacy_windows=False
    )
    with console.capture() as capture:
        console.print(drawn)
    return [line.rstrip() for line in capture.get().splitlines()]


def _least(cells: Sequence[Sequence[str]], shrink: Sequence[int]) -> int:
    """An id is not cut for a narrow screen: then the line is longer than that."""
    natural = [max(cell_len(row[n]) for row in cells) for n in range(len(cells[0]))]
    kept = [min(width, max(cell_len(cells[0][n]), LEAST)) if n in shrink else width for n, width in enumerate(natural)]
    return sum(kept) + GAP * (len(kept) - 1)
