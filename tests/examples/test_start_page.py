"""The first page that a newcomer follows tells the truth: what it shows is what is printed."""

from pathlib import Path

import pytest

from tests.examples.start_page import PAGE, Newcomer, alike, blocks, shown


def test_the_start_page_shows_what_is_printed(tmp_path: Path) -> None:
    newcomer = Newcomer(tmp_path)
    wrong = []
    typed = 0
    for language, block in blocks(PAGE.read_text("utf-8")):
        if language != "console":
            newcomer.saves(language, block)
            continue
        for each in shown(block):
            told, typed = newcomer.types(each.command), typed + 1
            if alike(told) != alike(each.output):
                wrong.append(f"$ {each.command}\n{told}\ninstead of\n{each.output}")
    assert not wrong, "\n".join([*wrong, "make it anew: python -m tests.examples.start_page"])
    assert typed > 20
    assert not (tmp_path / "calc").exists(), "its last command cleans up"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("S-1 on main as fcf3412, PR 1", "S-1 on main as fcf3412, PR 2"),
        ("1 on main.", "2 on main."),
        ("ok    settings  valid", "fail  settings  valid"),
        ("  run 1  build   tip   23:00:22  0.5 s  d8ba4be", "  run 1  build   rebase  23:00:22  0.5 s  d8ba4be"),
    ],
)
def test_what_matters_is_compared(one: str, other: str) -> None:
    assert alike(one) != alike(other)


def test_what_differs_by_chance_is_not() -> None:
    first = "23:00:36  S-2  build: red\n23:00:37  S-2  done: on main as 2c620e4, PR 2\n"
    second = "07:00:36  S-2  build: verify\n07:00:37  S-2  merge: land\n07:01:00  S-2  done: on main as 9c620e4, PR 2\n"
    assert alike(first) == alike(second)
    lacks = (
        "note  agent       claude: it is not installed. Install it\n                  or choose another.\nok    disk"
    )
    assert alike(lacks) == alike("ok    agent       claude, bubblewrap\nok    disk")
