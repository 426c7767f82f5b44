"""damascus logs: the transcripts and test logs of a story."""

from collections import deque
from pathlib import Path
from typing import Annotated

import typer

from damascus.cli.following import follow_agent
from damascus.cli.opened import app_for
from damascus.cli.say import as_json as print_json
from damascus.cli.say import columns, next_step, say, wrapped
from damascus.cli.tables import table
from damascus.domain.errors import DamascusError
from damascus.people import story_logs
from damascus.people.story_logs import StoryLog
from damascus.store import views
from damascus.telling.phrases import plain, plural

LINES = 40


def logs(
    story: Annotated[str, typer.Argument(metavar="STORY", help="The story's id.")],
    step: Annotated[str | None, typer.Option("--step", help="Only this step's: implement, red, verify, ci …")] = None,
    follow: Annotated[
        bool, typer.Option("--follow", "-f", help="Watch the agent as it works, until its step ends.")
    ] = False,
    lines: Annotated[int, typer.Option("--lines", "-n", min=1, help="How many lines from the end.")] = LINES,
    as_json: Annotated[bool, typer.Option("--json", help="Only the paths, as JSON.")] = False,
) -> None:
    """What the agent said, or the log of the tests that failed; and which other logs there are.

    \b
    Example:  damascus logs S-21 --step implement
              damascus logs S-21 --follow
    """
    app, project = app_for(story)
    row = views.story_row(app.database, project.row, story)
    folder = project.runs / row.story_id
    if follow:
        follow_agent(app.database, project.row, row.story_id, folder)
        return
    found = [log for log in story_logs.logs_in(folder) if step is None or story_logs.is_of(log, step)]
    if as_json:
        listed = [{"run": log.run, "path": log.path, "bytes": log.bytes} for log in found]
        print_json({"story_id": row.story_id, "logs": listed})
        return
    if not found:
        of = f" of step {step}" if step else ""
        raise DamascusError(f"{row.story_id} has no log{of} yet. See where it is: damascus why {row.story_id}")
    _say_list(folder, found, step)
    for log in story_logs.wanted(found, row, step):
        _say_end(log, folder, lines)
    next_step(f"damascus show {row.story_id}")


# ── which there are ───────────────────────────────────────────────────────────────────────────────────


def _say_list(folder: Path, found: list[StoryLog], step: str | None) -> None:
    """Below one folder; empty ones and our own trials are counted."""
    empty = [log for log in found if not log.bytes]
    trials = [log for log in found if log.bytes and step is None and log.is_trial]
    shown = [log for log in found if log not in empty and log not in trials]
    say(wrapped(f"in {folder}"))
    rows = [(str(log.path.relative_to(folder)), f"{log.bytes:,}") for log in shown]
    for line in table(("log", "bytes"), rows, (0,)) if rows else []:
        say("  " + line)
    left = [plural(len(empty), "empty one")] if empty else []
    left += [f"{len(trials):,} of trials of the tests (--json lists them)"] if trials else []
    if left:
        say(wrapped(f"… and {', '.join(left)}", "  "))


# ── the end of one ────────────────────────────────────────────────────────────────────────────────────


def _say_end(log: StoryLog, folder: Path, lines: int) -> None:
    """What an agent or a test printed is foreign text: it may not steer the terminal."""
    say(f"── the end of {log.path.relative_to(folder)} ".ljust(min(columns(), 60) - 1, "─"))
    for line in deque(story_logs.text_of(log), maxlen=lines):
        say(folded(line))
    say("─" * 40)


def folded(line: str) -> str:
    """A long line, wrapped; the layout of one that fits is kept."""
    text = plain(line).rstrip()
    return text if len(text) < columns() else wrapped(text)
