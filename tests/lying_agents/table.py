"""The tables of docs/lying-agents.md, made from the catalogue: `python -m tests.lying_agents.table` writes them."""

from collections.abc import Iterator
from pathlib import Path

from tests.lying_agents.catalogue import CHAPTERS
from tests.lying_agents.honest import TALES
from tests.lying_agents.tale import Tale

PAGE = Path(__file__).parents[2] / "docs" / "lying-agents.md"
BEGIN, END = "<!-- tables: begin -->\n", "<!-- tables: end -->\n"


def tables() -> str:
    parts = [_section(f"{title} ({len(lies)})", lies, "What stops it") for title, lies in CHAPTERS.items()]
    return "\n".join([*parts, _section(f"Honest agents, as control ({len(TALES)})", TALES, "Why it lands")])


def _section(title: str, tales: tuple[Tale, ...], because: str) -> str:
    head = [f"| The agent | What it does | {because} | Verdict |", "|---|---|---|---|"]
    return "\n".join([f"### {title}", "", *head, *_rows(tales)]) + "\n"


def _rows(tales: tuple[Tale, ...]) -> Iterator[str]:
    for tale in tales:
        yield f"| {tale.name} | {tale.does} | {tale.because} | `{tale.verdict}` |"


def written() -> tuple[str, str, str]:
    """The page in three parts; the middle one is ours."""
    before, _, rest = PAGE.read_text().partition(BEGIN)
    middle, _, after = rest.partition(END)
    return before, middle, after


if __name__ == "__main__":
    head, _, tail = written()
    PAGE.write_text(head + BEGIN + tables() + END + tail)
