"""One line per number: what, the ratio, what it must be, whether it is."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Result:
    """A measured ratio (or seconds beside a reference measured in the same run)."""

    what: str
    value: float
    wanted: str
    reached: bool
    note: str


def print_table(results: list[Result]) -> None:
    head = ("what", "measured", "wanted", "reached", "how")
    rows = [(r.what, f"{r.value:.2f}", r.wanted, "yes" if r.reached else "NO", r.note) for r in results]
    widths = [max(len(row[n]) for row in (head, *rows)) for n in range(len(head))]
    for row in (head, *rows):
        print("| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |")
        if row is head:
            print("|" + "|".join("-" * (width + 2) for width in widths) + "|")
