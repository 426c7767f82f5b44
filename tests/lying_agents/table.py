"""The tables of docs/lying-agents.md and docs/lab.md, from the catalogue: `python -m tests.lying_agents.table`."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from damascus.lab.catalogue import FAMILIES, HONEST, Family
from damascus.lab.running import STACKS

DOCS = Path(__file__).parents[2] / "docs"
PAGE, LAB = DOCS / "lying-agents.md", DOCS / "lab.md"


def tables() -> str:
    return "\n".join([*(_section(family, "What stops it") for family in FAMILIES), _section(HONEST, "Why it lands")])


def _section(family: Family, because: str) -> str:
    head = [f"| The agent | What it does | {because} | Verdict |", "|---|---|---|---|"]
    return "\n".join([f"### {family.title} ({len(family.tales)})", "", *head, *_rows(family)]) + "\n"


def _rows(family: Family) -> Iterator[str]:
    for tale in family.tales:
        yield f"| {tale.name} | {tale.does} | {tale.because} | `{tale.verdict}` |"


def families() -> str:
    """How many of each family there are, by stack."""
    head = ["| family | what it lies about | " + " | ".join(STACKS) + " |", "|---|---|" + "---|" * len(STACKS)]
    rows = []
    for family in (*FAMILIES, HONEST):
        found = Counter(tale.stack for tale in family.tales)
        numbers = " | ".join(str(found[stack] or "") for stack in STACKS)
        rows.append(f"| `{family.key}` | {family.title} | {numbers} |")
    return "\n".join([*head, *rows]) + "\n"


def written(page: Path, name: str = "tables") -> tuple[str, str, str]:
    """The page in three parts; the middle one is ours."""
    begin, end = f"<!-- {name}: begin -->\n", f"<!-- {name}: end -->\n"
    before, _, rest = page.read_text().partition(begin)
    middle, _, after = rest.partition(end)
    return before + begin, middle, end + after


if __name__ == "__main__":
    for page, name, made in ((PAGE, "tables", tables()), (LAB, "families", families())):
        head, _, tail = written(page, name)
        page.write_text(head + made + tail)
