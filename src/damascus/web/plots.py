"""Plots and drawings as shapes with numbers: a template draws them as inline SVG, without any style of their own."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil

WIDTH, HEIGHT, ROOM, LABEL = 560, 110, 22, 48
FEWEST = 12
WIDE, TALL, ACROSS, DOWN = 150, 34, 60, 18


@dataclass(frozen=True)
class PlotBar:
    """A bar of a plot; `title` is what it says to who points at it."""

    x: float
    y: float
    width: float
    height: float
    label: str
    title: str


@dataclass(frozen=True)
class Plot:
    """Bars beside each other over one axis; `most` is what the highest stands for."""

    width: int
    height: int
    floor: int
    bars: tuple[PlotBar, ...]
    most: str


def bars(values: Sequence[tuple[str, float, str]]) -> Plot | None:
    """A label, a value and its words, each; nothing where no value is above zero."""
    top = max((value for _, value, _ in values), default=0.0)
    if top <= 0:
        return None
    step = WIDTH / max(len(values), FEWEST)
    every = max(ceil(LABEL / step), 1)
    made = [
        PlotBar(
            round(n * step, 1),
            round(ROOM + HEIGHT * (1 - value / top), 1),
            round(step * 0.8, 1),
            round(HEIGHT * value / top, 1),
            label if n % every == 0 else "",
            f"{label}: {told}",
        )
        for n, (label, value, told) in enumerate(values)
    ]
    most = next(told for _, value, told in values if value == top)
    return Plot(WIDTH, ROOM + HEIGHT + ROOM, ROOM + HEIGHT, tuple(made), most)


@dataclass(frozen=True)
class DrawnBox:
    """A repository in a drawing."""

    x: int
    y: int
    name: str
    state: str


@dataclass(frozen=True)
class Drawing:
    """Boxes, and lines from each to those that need it."""

    width: int
    height: int
    boxes: tuple[DrawnBox, ...]
    lines: tuple[tuple[int, int, int, int], ...]


def drawing(names: Mapping[int, tuple[str, str]], edges: Sequence[tuple[int, int]]) -> Drawing | None:
    """What others need stands to the left of them. Nothing for one repository alone, or for too many."""
    if not 1 < len(names) <= 40:
        return None
    rank = _ranks(names, edges)
    rows: dict[int, int] = {}
    place = {}
    for node in names:
        column = rank[node]
        place[node] = (column * (WIDE + ACROSS) + 4, rows.get(column, 0) * (TALL + DOWN) + 4)
        rows[column] = rows.get(column, 0) + 1
    boxes = [DrawnBox(*place[node], *told) for node, told in names.items()]
    half = TALL // 2
    lines = [(place[up][0] + WIDE, place[up][1] + half, place[down][0], place[down][1] + half) for up, down in edges]
    wide, tall = max(x for x, _ in place.values()) + WIDE + 4, max(rows.values()) * (TALL + DOWN)
    return Drawing(wide, tall, tuple(boxes), tuple(lines))


def _ranks(names: Mapping[int, tuple[str, str]], edges: Sequence[tuple[int, int]]) -> dict[int, int]:
    """How many stand before each, at most; there is no ring (the graph refuses one)."""
    rank = dict.fromkeys(names, 0)
    for _ in names:
        for up, down in edges:
            rank[down] = max(rank[down], rank[up] + 1)
    return rank
