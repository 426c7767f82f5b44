"""damascus status: the same truth for people and for scripts; the live display."""

import io
import os
import pty
import re
import signal
import subprocess
import sys
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from damascus.cli.live import Progress
from damascus.domain.feedback import VerdictFeedback
from damascus.domain.verdict import Verdict
from damascus.people.overview import look
from tests.cli import states
from tests.cli.conftest import Cli
from tests.yard import Yard, story

KEYS = [
    "story_id", "title", "project", "phase", "status", "milestone", "step", "attempts", "budget_cycles", "last_verdict",
    "last_feedback", "branch", "base_commit", "pr_url", "merged_commit", "waiting_for", "updated_at",
]  # fmt: skip


def a_busy_project(yard: Yard) -> int:
    """One of each: at work, waiting for its files, blocked, done, cancelled, ready."""
    yard.add(story("S-1", scope=["src/io/"]), story("S-2", scope=["src/io/csv.py"]), story("S-3"))
    first, third = states.claim(yard, 2)
    states.rejected(yard, third, Verdict.TESTS_FAILED, VerdictFeedback(message="red", failing_tests=["t::x"]))
    question = states.asks(yard, states.claim(yard)[0], "Which colour?", "red", "blue")
    yard.add(story("S-4"), story("S-5"), story("S-6"))
    states.landed(yard, "S-4")
    yard.query("UPDATE work_items SET phase = 'cancelled', state = 'resting' WHERE story_id = 'S-5' RETURNING id")
    assert first.story_id == "S-1"
    return question


def items(cli: Cli) -> dict[str, dict[str, Any]]:
    ran = cli("status", "--json")
    assert (ran.code, ran.err) == (0, "")
    return {item["story_id"]: item for item in ran.json["items"]}


@pytest.mark.req("D2", "A1")
def test_json_lists_every_item_with_the_published_keys(yard: Yard, cli: Cli) -> None:
    question = a_busy_project(yard)
    found = items(cli)
    assert list(found) == ["S-1", "S-2", "S-3", "S-4", "S-5", "S-6"]
    assert all(list(item) == KEYS for item in found.values())
    words = {name: (item["phase"], item["status"]) for name, item in found.items()}
    assert words == {
        "S-1": ("build", "IN-PROGRESS"),
        "S-2": ("build", "PENDING"),
        "S-3": ("blocked", "BLOCKED"),
        "S-4": ("done", "DONE"),
        "S-5": ("cancelled", "BLOCKED"),
        "S-6": ("build", "PENDING"),
    }
    assert found["S-1"]["milestone"] == "WORKING"
    assert found["S-4"]["merged_commit"] == yard.main()
    assert found["S-3"]["waiting_for"] == {"kind": "person", "key": str(question), "who": "you", "wake_at": None}
    assert found["S-2"]["waiting_for"]["who"] == "S-1"
    assert found["S-6"]["waiting_for"] is None
    moment = found["S-1"]["updated_at"]
    assert moment.endswith("Z") and datetime.fromisoformat(moment).tzinfo


def test_people_see_what_moves_what_needs_them_and_counts_of_the_rest(yard: Yard, cli: Cli) -> None:
    question = a_busy_project(yard)
    told = cli("status").out
    assert f"main at {yard.main()[:7]} · 1 of 2 slots busy · 1 needs you · agents confined by bubblewrap" in told
    assert re.search(rf"^! S-3 .*blocked .*needs you: damascus answer {question} ", told, re.MULTILINE)
    assert re.search(r"^  S-2 .*waits for the files of S-1 \(src/io/csv.py\) ", told, re.MULTILINE)
    assert re.search(r"^  S-6 .* ready  +–  +–$", told, re.MULTILINE)
    assert "S-4" not in told
    assert "… 1 done today, 1 cancelled: damascus status --all" in told
    assert told.splitlines()[-1] == "Next: damascus inbox"


def test_all_shows_every_story(yard: Yard, cli: Cli) -> None:
    a_busy_project(yard)
    told = cli("status", "--all").out
    assert re.search(rf"^  S-4 .*on main as {yard.main()[:7]}, PR 44 ", told, re.MULTILINE)
    assert re.search(r"^  S-5 .*cancelled", told, re.MULTILINE)


def test_a_pipe_gets_no_escape_codes_and_lines_fit_the_columns(
    yard: Yard, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    yard.add(story("S-1", title="a very long title " * 10))
    monkeypatch.setenv("COLUMNS", "72")
    told = cli("status", "--all").out
    assert "\x1b" not in told
    row = next(line for line in told.splitlines() if "S-1" in line)
    assert len(row) <= 72 and "…" in row


def test_an_empty_project_says_what_to_do(cli: Cli) -> None:
    assert "damascus add SPEC" in cli("status").out


@pytest.mark.parametrize("kind", ["ready", "blocked"])
def test_a_long_queue_is_cut_and_counted(kind: str, yard: Yard, cli: Cli) -> None:
    yard.add(*(story(f"S-{n}", scope=[f"m{n}.py"]) for n in range(60)))
    if kind == "blocked":
        yard.query("UPDATE work_items SET phase = 'blocked', state = 'resting', resume_phase = 'build' RETURNING id")
    told = cli("status").out
    shown = {"ready": 5, "blocked": 50}[kind]
    assert len(re.findall(r"^[! ] S-\d+ ", told, re.MULTILINE)) == shown
    assert f"… {60 - shown} more {kind}: damascus status --all" in told


# ── the live display ──────────────────────────────────────────────────────────────────────────────────


def test_without_a_terminal_one_line_per_change(yard: Yard, cli: Cli, capsys: pytest.CaptureFixture[str]) -> None:
    yard.add(story("S-1"))
    with Progress(lambda: look(yard.app, yard.project), title="calc") as progress:
        progress.tick()
        progress.tick()
        item = states.claim(yard)[0]
        progress.tick()
        states.outage(yard, item, "gateway said 503")
        progress.tick()
        progress.tick()
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "calc"
    assert [line.split("  ", 1)[1] for line in lines[1:]] == [
        "S-1  build: ready",
        "S-1  build: begins",
        "S-1  build: waits: gateway said 503 (not counted)",
    ]


def test_on_a_terminal_a_table_is_redrawn(yard: Yard, cli: Cli) -> None:
    a_busy_project(yard)
    screen = io.StringIO()
    console = Console(file=screen, force_terminal=True, width=100, height=30, color_system=None)
    with Progress(lambda: look(yard.app, yard.project, everything=True), console=console, title="calc") as progress:
        progress.tick()
        progress.tick()
    drawn = screen.getvalue()
    assert "\x1b[" in drawn
    assert "needs you: damascus answer" in drawn and f"on main as {yard.main()[:7]}, PR 44" in drawn


def test_a_screen_that_is_too_small_says_how_much_is_missing(yard: Yard, cli: Cli) -> None:
    yard.add(*(story(f"S-{n}", scope=[f"m{n}.py"]) for n in range(30)))
    screen = io.StringIO()
    console = Console(file=screen, force_terminal=True, width=100, height=12, color_system=None)
    with Progress(lambda: look(yard.app, yard.project, everything=True), console=console) as progress:
        progress.tick()
    assert "… 22 lines more" in screen.getvalue()


@pytest.mark.parametrize("terminal", [False, True])
def test_watch_shows_changes_until_ctrl_c(terminal: bool, yard: Yard) -> None:
    yard.add(story("S-1", title="the first"))
    ours, theirs = pty.openpty() if terminal else os.pipe()
    env = {**yard.environ, "TERM": "xterm", "COLUMNS": "100", "LINES": "24", "PYTHONUNBUFFERED": "1"}
    program = Path(sys.executable).parent / "damascus"
    with subprocess.Popen([program, "status", "--watch"], cwd=yard.repo, env=env, stdout=theirs) as watching:
        os.close(theirs)
        seen = b""
        while b"ready" not in seen:
            seen += os.read(ours, 4096)
        states.claim(yard)
        while b"begins" not in seen:
            seen += os.read(ours, 4096)
        watching.send_signal(signal.SIGINT)
        assert watching.wait(30) == 130
    os.close(ours)
    assert (b"\x1b[" in seen) is terminal
