"""damascus logs: the transcripts and test logs of a story."""

import re
from collections import deque
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from damascus.cli.opened import opened_for
from damascus.cli.say import as_json as print_json
from damascus.cli.say import next_step, say
from damascus.domain.errors import DamascusError

LINES = 40
LOGS_OF = {
    "implement": ("transcript",),
    "refine": ("transcript",),
    "verify": ("tests", "acceptance", "command"),
    "review": ("tests", "acceptance", "command"),
}
"""Which names the logs of a step begin with, where not with the step's own. CI shares the run of verify."""
READ_LIMIT = 400_000


@dataclass(frozen=True)
class Log:
    run: int
    path: Path
    bytes: int
    changed: float


def logs(
    story: Annotated[str, typer.Argument(metavar="STORY", help="The story's id.")],
    step: Annotated[str | None, typer.Option("--step", help="Only this step's: implement, red, verify, ci …")] = None,
    lines: Annotated[int, typer.Option("--lines", "-n", min=1, help="How much of the end.")] = LINES,
    as_json: Annotated[bool, typer.Option("--json", help="Only the paths, as JSON.")] = False,
) -> None:
    """Where the logs of a story are, and the end of the newest one.

    \b
    Example:  damascus logs S-21 --step implement
    """
    from damascus.store import views

    db, project = opened_for(story)
    row = views.story_row(db, project.row, story)
    found = [log for log in _found(project.runs / row.story_id) if step is None or _is_of(log, step)]
    if as_json:
        print_json(
            {"story_id": row.story_id, "logs": [{"run": x.run, "path": x.path, "bytes": x.bytes} for x in found]}
        )
        return
    if not found:
        of = f" of step {step}" if step else ""
        raise DamascusError(f"{row.story_id} has no log{of} yet. See where it is: damascus why {row.story_id}")
    for log in found:
        say(f"run {log.run}  {log.bytes:>9,} bytes  {log.path}")
    _say_end(found[-1], lines)
    next_step(f"damascus show {row.story_id}")


def _found(folder: Path) -> list[Log]:
    """Oldest first."""
    found = []
    for path in folder.glob("run-*/**/*"):
        if path.suffix in (".log", ".txt", ".stderr") and path.is_file() and not path.is_symlink():
            number = re.match(r"run-(\d+)", path.relative_to(folder).parts[0])
            info = path.stat()
            found.append(Log(int(number.group(1)) if number else 0, path, info.st_size, info.st_mtime))
    return sorted(found, key=lambda log: (log.run, log.changed, log.path.name))


def _is_of(log: Log, step: str) -> bool:
    return log.path.name.startswith((step, *LOGS_OF.get(step, ())))


def _say_end(log: Log, lines: int) -> None:
    """What an agent or a test printed is foreign text: it may not steer the terminal."""
    from damascus.cli.words import plain

    with log.path.open("rb") as file:
        file.seek(max(log.bytes - READ_LIMIT, 0))
        text = file.read(READ_LIMIT).decode("utf-8", errors="replace")
    say(f"── the end of {log.path.name} " + "─" * 20)
    for line in deque(text.splitlines(), maxlen=lines):
        say(plain(line))
    say("─" * 40)
