"""Whatever ARCHITECTURE, CONTRIBUTING and AGENTS send a reader to is there, and the pictures are what they show."""

import re
from functools import cache
from itertools import product

import pytest

from tests.rules.tree import ROOT, SOURCE, document
from tools import pictures

PAGES = ("ARCHITECTURE.md", "CONTRIBUTING.md", "AGENTS.md")
FILE = re.compile(r"(?<![\w./<>*{}-])[\w.<>*{},/-]*[\w>*]\.(?:py|md|sql|toml|txt)\b")
FOLDER = re.compile(
    r"(?<=`)[\w{},-]+(?:/[\w{},-]+)*/(?=`)|(?<![\w./`-])(?:src|docs|tests|tools|bench|examples)/[\w/-]+(?![\w/*<.-]*\.\w|[\w*<-])"
)
MADE = {".venv", ".components", "damascus.toml"}
"""By `make`, or by whoever uses Damascus."""
MOST = 4
"""Files of one change that people make often."""
BIG = {"a forge", "a stack"}
TOO_FAR = {
    "a gate that needs another look at a run": 8,
}
"""Still over the most, and no worse than this."""


def named(text: str) -> set[str]:
    return {found.strip(",.") for pattern in (FILE, FOLDER) for found in pattern.findall(text)}


def without_braces(path: str) -> list[str]:
    """`forges/{local,gitea}/` is two folders."""
    parts = [part.split(",") if n % 2 else [part] for n, part in enumerate(re.split(r"[{}]", path))]
    return ["".join(chosen) for chosen in product(*parts)]


@cache
def everything() -> frozenset[str]:
    """Every file and folder, as a path from the tree's top and from any folder below it."""
    found: set[str] = set()
    for path in (each for folder in ("src", "tests", "docs", "tools", "bench") for each in (ROOT / folder).rglob("*")):
        parts = path.relative_to(ROOT).parts
        found |= {"/".join(parts[n:]) for n in range(len(parts))}
    return frozenset(found)


def is_there(path: str) -> bool:
    first = path.partition("/")[0]
    if first in MADE or "<" in first:
        return True
    if "<" in path:  # a new file, in a folder that is there
        path = path[: path.index("<")].rpartition("/")[0]
    path = path.rstrip("/")
    if "*" in path:
        return any(any(folder.glob(path)) for folder in (ROOT, SOURCE))
    return (ROOT / path).exists() or (SOURCE / path).exists() or path in everything()


@pytest.mark.parametrize("page", PAGES)
def test_every_path_that_a_page_names_is_there(page: str) -> None:
    paths = [path for found in named(document(page)) for path in without_braces(found)]
    assert len(paths) > 3 and sorted(path for path in paths if not is_there(path)) == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("see `engine/gone.py`", {"engine/gone.py"}),
        ("`forges/{local,gitea}/` and docs/howto/forge.md.", {"forges/{local,gitea}/", "docs/howto/forge.md"}),
        ("`gates/<name>.py`, `store/migrations/<n>.sql`", {"gates/<name>.py", "store/migrations/<n>.sql"}),
        ("`stacks/canaries*.py`", {"stacks/canaries*.py"}),
        ("worker.py     claims", {"worker.py"}),
    ],
)
def test_the_rule_sees_paths_in_prose_in_code_and_in_braces(text: str, found: set[str]) -> None:
    assert named(text) == found
    assert not is_there("engine/gone.py") and not is_there("gone/<name>.py") and not is_there("gone*.py")


def changes() -> dict[str, tuple[int, list[str]]]:
    """The rows of "Twelve changes": how many files, and those named before the first full stop."""
    table = document("CONTRIBUTING.md").partition("### Twelve changes")[2].partition("\n### ")[0]
    rows = [[cell.strip() for cell in line.strip("| ").split(" | ")] for line in table.splitlines() if "|" in line]
    return {row[0]: (int(row[1]), re.findall(r"`([^` ]+)`", row[2].partition(". ")[0])) for row in rows[2:]}


def test_the_twelve_changes_count_the_files_that_they_name() -> None:
    found = changes()
    assert len(found) == 12
    assert {change: names for change, (count, names) in found.items() if count != len(names)} == {}


def test_no_change_takes_more_files_than_before() -> None:
    most = {change: TOO_FAR.get(change, MOST) for change in changes() if change not in BIG}
    assert {change: changes()[change][0] for change, limit in most.items() if changes()[change][0] > limit} == {}


def test_the_pictures_show_the_rooms_and_the_tables() -> None:
    page = document("ARCHITECTURE.md")
    assert pictures.drawn(page) == page, "run tools/pictures --write"


def test_the_pictures_are_of_the_whole_tree_and_arrows_point_down() -> None:
    order = {room: n for n, layer in enumerate(pictures.layers()) for room in layer}
    here = {path.stem for path in SOURCE.iterdir() if path.is_dir() or path.suffix == ".py"}
    assert here - {"__init__", "__main__", "__pycache__", "py"} <= set(order)
    assert [f"{one} --> {other}" for one, other in pictures.needed_arrows() if order[one] >= order[other]] == []
    assert {"work_items", "leases", "journal", "projects"} <= set(pictures.tables())
    assert ("work_items", "project_id", "projects", True) in pictures.relations()
