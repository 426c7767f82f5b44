"""The transcripts and test logs of a story: which there are, which one a person looks for, what it says."""

import re
from dataclasses import dataclass
from pathlib import Path

from damascus.domain.verdict import Phase
from damascus.store.views import StoryRow

TRANSCRIPT = "transcript.txt"
PROMPT = "prompt.md"
TESTS = ("tests", "acceptance", "command")
LOGS_OF = {"implement": ("transcript",), "refine": ("transcript",), "verify": TESTS, "review": TESTS}
"""Which names the logs of a step begin with, where not with the step's own. CI shares the run of verify."""
TRIALS = ("control", "mutant", "base-", "canary")
"""Runs of our own that try the tests: of no interest until one asks for them by --step."""
READ_LIMIT = 400_000


@dataclass(frozen=True)
class StoryLog:
    """A file that an agent or a command wrote in a run."""

    run: int
    path: Path
    bytes: int
    changed: float

    @property
    def name(self) -> str:
        return self.path.name

    @property
    def is_trial(self) -> bool:
        return self.name.startswith(TRIALS)


def logs_in(folder: Path) -> list[StoryLog]:
    """Oldest first."""
    found = []
    for path in folder.glob("run-*/**/*"):
        if path.suffix in (".log", ".txt", ".stderr") and path.is_file() and not path.is_symlink():
            number = re.match(r"run-(\d+)", path.relative_to(folder).parts[0])
            info = path.stat()
            found.append(StoryLog(int(number.group(1)) if number else 0, path, info.st_size, info.st_mtime))
    return sorted(found, key=lambda log: (log.run, log.changed, log.name))


def is_of(log: StoryLog, step: str) -> bool:
    """By its name, or by the folder of its agent where a run has several."""
    return log.name.startswith((step, *LOGS_OF.get(step, ()))) or log.path.parent.name.startswith(f"{step}-")


def wanted(found: list[StoryLog], row: StoryRow, step: str | None) -> list[StoryLog]:
    """What a person looks for first: the log that the verdict names, else what the last agent said."""
    told = [log for log in found if log.bytes] or found[-1:]
    if step is None:
        named = (row.last_feedback or {}).get("log") if row.phase != Phase.DONE else None
        if judged := [log for log in told if str(log.path) == named]:
            return judged
        told = [log for log in told if log.name.startswith(TRANSCRIPT)] or _no_trials(told)
    newest = [log for log in told if log.run == told[-1].run]
    spoken = [log for log in newest if log.name.startswith(TRANSCRIPT)]
    spoken = [log for log in spoken if log.path.parent == spoken[-1].path.parent]
    return sorted(spoken, key=lambda log: log.name) or newest[-1:]


def _no_trials(logs: list[StoryLog]) -> list[StoryLog]:
    return [log for log in logs if not log.is_trial] or logs


def text_of(log: StoryLog) -> list[str]:
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
