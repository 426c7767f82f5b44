"""damascus logs: the transcripts and test logs of a story."""

import re
from collections import deque
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from damascus.cli.opened import app_for
from damascus.cli.say import as_json as print_json
from damascus.cli.say import columns, next_step, say, table, wrapped
from damascus.cli.words import plain, plural
from damascus.domain.errors import DamascusError

if TYPE_CHECKING:
    from damascus.store.views import StoryRow

LINES = 40
TRANSCRIPT = "transcript.txt"
PROMPT = "prompt.md"
TESTS = ("tests", "acceptance", "command")
LOGS_OF = {"implement": ("transcript",), "refine": ("transcript",), "verify": TESTS, "review": TESTS}
"""Which names the logs of a step begin with, where not with the step's own. CI shares the run of verify."""
TRIALS = ("control", "mutant", "base-", "canary")
"""Runs of our own that try the tests: of no interest until one asks for them by --step."""
READ_LIMIT = 400_000


@dataclass(frozen=True)
class Log:
    run: int
    path: Path
    bytes: int
    changed: float

    @property
    def name(self) -> str:
        return self.path.name


def logs(
    story: Annotated[str, typer.Argument(metavar="STORY", help="The story's id.")],
    step: Annotated[str | None, typer.Option("--step", help="Only this step's: implement, red, verify, ci …")] = None,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="The agent as it works, until its step ends.")] = False,
    lines: Annotated[int, typer.Option("--lines", "-n", min=1, help="How much of the end.")] = LINES,
    as_json: Annotated[bool, typer.Option("--json", help="Only the paths, as JSON.")] = False,
) -> None:
    """What the agent said, or the log of the tests that failed; and which other logs there are.

    \b
    Example:  damascus logs S-21 --step implement
              damascus logs S-21 --follow
    """
    from damascus.store import views

    app, project = app_for(story)
    row = views.story_row(app.database, project.row, story)
    folder = project.runs / row.story_id
    if follow:
        from damascus.cli.following import follow_agent

        follow_agent(app.database, project.row, row.story_id, folder)
        return
    found = [log for log in _found(folder) if step is None or _is_of(log, step)]
    if as_json:
        listed = [{"run": log.run, "path": log.path, "bytes": log.bytes} for log in found]
        print_json({"story_id": row.story_id, "logs": listed})
        return
    if not found:
        of = f" of step {step}" if step else ""
        raise DamascusError(f"{row.story_id} has no log{of} yet. See where it is: damascus why {row.story_id}")
    _say_list(folder, found, step)
    for log in _wanted(found, row, step):
        _say_end(log, folder, lines)
    next_step(f"damascus show {row.story_id}")


def _found(folder: Path) -> list[Log]:
    """Oldest first."""
    found = []
    for path in folder.glob("run-*/**/*"):
        if path.suffix in (".log", ".txt", ".stderr") and path.is_file() and not path.is_symlink():
            number = re.match(r"run-(\d+)", path.relative_to(folder).parts[0])
            info = path.stat()
            found.append(Log(int(number.group(1)) if number else 0, path, info.st_size, info.st_mtime))
    return sorted(found, key=lambda log: (log.run, log.changed, log.name))


def _is_of(log: Log, step: str) -> bool:
    return log.name.startswith((step, *LOGS_OF.get(step, ())))


# ── which there are ───────────────────────────────────────────────────────────────────────────────────


def _say_list(folder: Path, found: list[Log], step: str | None) -> None:
    """Below one folder; empty ones and our own trials are counted."""
    empty = [log for log in found if not log.bytes]
    trials = [log for log in found if log.bytes and step is None and log.name.startswith(TRIALS)]
    shown = [log for log in found if log not in empty and log not in trials]
    say(wrapped(f"in {folder}"))
    rows = [(str(log.path.relative_to(folder)), f"{log.bytes:,}") for log in shown]
    for line in table(("log", "bytes"), rows, (0,)) if rows else []:
        say("  " + line)
    left = [plural(len(empty), "empty one")] if empty else []
    left += [f"{len(trials):,} of trials of the tests (--json lists them)"] if trials else []
    if left:
        say(wrapped(f"… and {', '.join(left)}", "  "))


def _wanted(found: list[Log], row: "StoryRow", step: str | None) -> list[Log]:
    """What a person looks for first: the log that the verdict names, else what the last agent said."""
    told = [log for log in found if log.bytes] or found[-1:]
    if step is None:
        named = (row.last_feedback or {}).get("log") if row.phase != "done" else None
        if judged := [log for log in told if str(log.path) == named]:
            return judged
        told = [log for log in told if log.name.startswith(TRANSCRIPT)] or _no_trials(told)
    newest = [log for log in told if log.run == told[-1].run]
    spoken = [log for log in newest if log.name.startswith(TRANSCRIPT)]
    return sorted(spoken, key=lambda log: log.name) or newest[-1:]


def _no_trials(logs: list[Log]) -> list[Log]:
    return [log for log in logs if not log.name.startswith(TRIALS)] or logs


# ── the end of one ────────────────────────────────────────────────────────────────────────────────────


def _say_end(log: Log, folder: Path, lines: int) -> None:
    """What an agent or a test printed is foreign text: it may not steer the terminal."""
    say(f"── the end of {log.path.relative_to(folder)} ".ljust(min(columns(), 60) - 1, "─"))
    for line in deque(_text(log), maxlen=lines):
        say(folded(line))
    say("─" * 40)


def _text(log: Log) -> list[str]:
    with log.path.open("rb") as file:
        file.seek(max(log.bytes - READ_LIMIT, 0))
        lines = file.read(READ_LIMIT).decode("utf-8", errors="replace").splitlines()
    told = prompt_lines(log.path.parent, lines) if log.bytes <= READ_LIMIT else range(0)
    return [line for n, line in enumerate(lines) if n not in told]


def prompt_lines(run: Path, lines: list[str]) -> range:
    """Which lines of a transcript repeat the prompt, that lies beside it."""
    try:
        prompt = (run / PROMPT).read_text("utf-8", errors="replace").splitlines()
    except OSError:
        return range(0)
    begins = next((n for n in range(2) if prompt and lines[n : n + 1] == prompt[:1]), None)
    return range(0) if begins is None else range(begins, begins + len(prompt))


def folded(line: str) -> str:
    """A long line, wrapped; the layout of one that fits is kept."""
    text = plain(line).rstrip()
    return text if len(text) < columns() else wrapped(text)
