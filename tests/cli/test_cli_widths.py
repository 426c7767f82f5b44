"""What is shown at 60 and at 100 columns: ids, phases and what a person must type are kept, titles give way first."""

import io
import re

import pytest
from rich.console import Console

from damascus.cli.checks import report
from damascus.cli.live import Progress
from damascus.cli.say import aside, tell, width_of
from damascus.cli.tables import table
from damascus.domain.check import Check
from damascus.people.acts import Done
from damascus.people.overview import look
from damascus.telling.phrases import whole_words
from tests.cli import states
from tests.cli.conftest import Cli
from tests.cli.test_cli_status import a_busy_project
from tests.yard import Yard, story

WIDTHS = (60, 100)
LONG = "a title that tells much more than anybody wants to read in one line of a table"


def long_titles(yard: Yard) -> int:
    question = a_busy_project(yard)
    yard.query("UPDATE work_items SET title = %s RETURNING id", LONG)
    return question


def no_word_is_broken(line: str) -> bool:
    """A word of the title that ends early ends in an ellipsis, after a whole word."""
    found = re.search(r"(a title[^…]*)…", line)
    return found is None or (LONG.startswith(found.group(1)) and LONG[len(found.group(1))] in " ")


@pytest.mark.req("X3")
@pytest.mark.parametrize("width", WIDTHS)
def test_status_keeps_what_is_needed_to_act(width: int, yard: Yard, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    question = long_titles(yard)
    monkeypatch.setenv("COLUMNS", str(width))
    told = cli("status", "--all").out.splitlines()
    assert all(width_of(line) <= width for line in told), "\n".join(told)
    rows = {line[2:].split()[0]: line for line in told if line[2:].startswith("S-")}
    assert len(rows) == 6
    assert all(width_of(line) <= width and no_word_is_broken(line) for line in rows.values()), "\n".join(told)
    assert f"answer {question}" in rows["S-3"] and f"answer {question}…" not in rows["S-3"]
    assert "blocked" in rows["S-3"] and "cancelled" in rows["S-5"] and "S-1" in rows["S-2"]
    assert "…" in rows["S-1"]


@pytest.mark.parametrize("width", (40, *WIDTHS))
def test_the_live_table_keeps_ids_and_phases(width: int, yard: Yard, cli: Cli) -> None:
    question = long_titles(yard)
    yard.query("UPDATE work_items SET story_id = 'TASK-CHECKOUT-001' WHERE story_id = 'S-6' RETURNING id")
    screen = io.StringIO()
    console = Console(file=screen, force_terminal=True, width=width, height=30, color_system=None)
    with Progress(lambda: look(yard.app, yard.project, everything=True), console=console) as progress:
        progress.tick()
    drawn = [line.rstrip() for line in re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", screen.getvalue()).splitlines()]
    for name, phase in (("S-1", "build"), ("S-3", "blocked"), ("S-4", "done"), ("TASK-CHECKOUT-001", "build")):
        line = next(line for line in drawn if line.split()[:1] == [name])
        assert f" {phase}" in line and width_of(line) <= width and no_word_is_broken(line), line
    assert any(f"answer {question}" in line for line in drawn if line.split()[:1] == ["S-3"])


@pytest.mark.parametrize("width", WIDTHS)
def test_sentences_notes_and_checks_are_wrapped(
    width: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    tell(Done("short   and as it is\n  " + "a sentence that goes on " * 9, "damascus status"))
    aside("note", "every candidate passes `python3 -m pytest -q` too, found from main's files; " * 2)
    checks = [Check("gate commands", "ok", "every candidate passes types `mypy .` " * 5), Check("git", "ok", "2.39")]
    report(checks, {}, "damascus doctor", "damascus run", as_json=False)
    told = capsys.readouterr()
    lines = [*told.out.splitlines(), *told.err.splitlines()]
    assert all(width_of(line) < width for line in lines), "\n".join(lines)
    assert lines[0] == "short   and as it is" and lines[2].startswith("  ") and "\n      " in told.err
    at = next(line for line in lines if "gate commands" in line).index("every candidate")
    assert next(line for line in lines if line.startswith("ok    git")).index("2.39") == at, "one column"


@pytest.mark.parametrize("width", WIDTHS)
def test_inbox_show_and_logs_wrap(width: int, yard: Yard, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    yard.add(story("S-1", title=LONG, scope=[f"src/a/module/that/is/long/{n}.py" for n in range(9)]))
    states.asks(yard, states.claim(yard)[0], "Which of the many colours that there are shall it be, and why? " * 3, "x")
    folder = yard.project.runs / "S-1" / "run-1"
    folder.mkdir(parents=True)
    (folder / "transcript.txt").write_text("words " * 60 + "\n")
    (yard.project.worktrees / "S-1").mkdir(parents=True)
    monkeypatch.setenv("COLUMNS", str(width))
    for words in (("inbox",), ("show", "S-1"), ("logs", "S-1")):
        for line in cli(*words).out.splitlines():
            alone = len(line) - len(line.split(" ")[-1]) < 14  # a path is never broken
            assert len(line) <= width or alone, (words, line)


def test_words_are_cut_between_words() -> None:
    assert whole_words("one two three", 20) == "one two three"
    assert whole_words("one two three", 9) == "one two…"
    assert whole_words("one two three", 8) == "one two…"
    assert whole_words("one two, three", 10) == "one two…"
    assert whole_words("onetwothree", 5) == "onet…"


@pytest.mark.parametrize("width", (40, *WIDTHS))
def test_a_table_cuts_only_what_may_give_way(width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    lines = table(
        ("story", "what it is", "commit"), [("TASK-CHECKOUT-001", LONG, "9b1c0de"), ("S-2", "日本語", "–")], (1,)
    )
    assert all(width_of(line) <= width - 2 for line in lines), lines
    assert lines[1].startswith("TASK-CHECKOUT-001  a title") and lines[1].endswith("…  9b1c0de")
    assert lines[0].index("commit") == lines[1].index("9b1c0de") == lines[2].index("–") + 3, "cells, not characters"


def test_an_id_is_never_cut_for_a_narrow_screen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    assert table(("story", "n"), [("S-" + "1" * 50, "7")], lead=0)[1] == f"S-{'1' * 50}  7"


@pytest.mark.req("X3")
def test_the_title_of_a_run_breaks_between_its_parts(yard: Yard) -> None:
    title = "calc · 2 slots · command agent, confined by bubblewrap · local forge"
    screen = io.StringIO()
    console = Console(file=screen, force_terminal=True, width=60, height=30, color_system=None)
    with Progress(lambda: look(yard.app, yard.project), console=console, title=title):
        pass
    assert screen.getvalue().startswith("calc · 2 slots · command agent, confined by bubblewrap\n  local forge\n")
    pipe = Console(file=(lines := io.StringIO()), width=60)
    with Progress(lambda: look(yard.app, yard.project), console=pipe, title=title):
        pass
    assert lines.getvalue() == f"{title}\n"
