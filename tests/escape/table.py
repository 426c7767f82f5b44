"""The table of docs/sandbox.md, made from the catalogue: `python -m tests.escape.table` writes it."""

from pathlib import Path

from tests.escape.attempt import Attempt, Use
from tests.escape.catalogue import ATTEMPTS

PAGE = Path(__file__).parents[2] / "docs" / "sandbox.md"
BEGIN, END = "<!-- table: begin -->\n", "<!-- table: end -->\n"


def table() -> str:
    head = ["| An agent or a test … | bubblewrap | Landlock: an agent | Landlock: a test |", "|---|---|---|---|"]
    rows = [f"| {each.does} | stopped | {_landlock(each, 'agent')} | {_landlock(each, 'test')} |" for each in ATTEMPTS]
    return "\n".join([*head, *rows]) + "\n"


def _landlock(attempt: Attempt, use: Use) -> str:
    since = attempt.stopped_since(use)
    if since is None:
        return "**not stopped**, unless as root" if attempt.spares_root else "**not stopped**"
    return "stopped" if since == 1 else f"stopped since version {since}"


def written() -> tuple[str, str, str]:
    """The page in three parts; the middle one is ours."""
    before, _, rest = PAGE.read_text().partition(BEGIN)
    middle, _, after = rest.partition(END)
    return before, middle, after


if __name__ == "__main__":
    top, _, bottom = written()
    PAGE.write_text(top + BEGIN + table() + END + bottom)
