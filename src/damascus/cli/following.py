"""damascus logs --follow: an agent as it works, a line for each thing that it says, does and gets, to its end."""

import time
from pathlib import Path

from damascus.cli.say import columns, next_step, say, wrapped
from damascus.domain.errors import DamascusError
from damascus.domain.roles import AGENT_STEPS
from damascus.people.story_logs import PROMPT, TRANSCRIPT, prompt_lines
from damascus.store import views
from damascus.store.db import Database
from damascus.store.projects import ProjectRow
from damascus.store.views import StoryRow
from damascus.system.hostid import host_name, host_of
from damascus.telling.now import now
from damascus.telling.phrases import one_line, whole_words, worker

TICK = 0.25
SLOW = 4
"""Looks at the file for one at the database."""


def follow_agent(db: Database, project: ProjectRow, story: str, folder: Path) -> None:
    """Wait for an agent if none works yet, show what it says, and end with its step."""
    row = _at_work(db, project, story)
    if row is None:
        next_step(f"damascus logs {story}, damascus show {story}")
        return
    step = row.step if row.step in AGENT_STEPS else AGENT_STEPS[0]
    if row.worker_id and host_of(row.worker_id) != host_name():
        raise DamascusError(f"its agent works for {worker(row.worker_id)}: its transcript is there.")
    run = agents_folder(folder / f"run-{row.run_no}", step)
    say(wrapped(f"{story} · {step}, run {row.run_no} · {run / TRANSCRIPT}"))
    reader = _Reader(run)
    while _agent_works(db, row):
        for _ in range(SLOW):
            reader.say_new()
            time.sleep(TICK)
    reader.say_new(last=True)
    row = views.story_row(db, project, story)
    say(wrapped(f"The step {step} has ended. {story} is now in {row.phase}: {now(row)}"))
    next_step(f"damascus logs {story}, damascus why {story}")


def agents_folder(run: Path, step: str) -> Path:
    """Where the agent of that step writes: of a run with several, each has a folder of its own."""
    own = sorted(run.glob(f"{step}-*/"), key=lambda each: each.stat().st_mtime)
    return own[-1] if own else run


def _at_work(db: Database, project: ProjectRow, story: str) -> StoryRow | None:
    """None: it came to rest while it was waited for."""
    told = False
    while True:
        row = views.story_row(db, project, story)
        if not row.active and told:
            say(f"{story} is {row.phase}: {now(row)}")
            return None
        if not row.active:
            raise DamascusError(
                f"no agent is working on {story}: it is {row.phase}. What was said: damascus logs {story}"
            )
        if _agent_works(db, row):
            return row
        if not told:
            say(f"No agent works on {story} at this moment: it is waited for (Ctrl-C ends).")
            told = True
        time.sleep(TICK * SLOW)


def _agent_works(db: Database, row: StoryRow) -> bool:
    """By the journal: an agent's step is begun there and not done, and somebody holds the story."""
    begun = [s for s in views.journal(db, row.id, row.run_no) if s["run_no"] == row.run_no and s["step"] in AGENT_STEPS]
    return any(s["status"] == "intent" for s in begun) and bool(db.one("view_leased", item=row.id))


class _Reader:
    """New whole lines of the transcript and of what the agent prints beside it. The prompt is not repeated."""

    def __init__(self, run: Path) -> None:
        self._run = run
        self._read = {name: 0 for name in (TRANSCRIPT, f"{TRANSCRIPT}.stderr")}
        self._hidden = range(0)
        self._lines = 0

    def say_new(self, *, last: bool = False) -> None:
        for name in self._read:
            for line in self._new(name, last):
                if text := one_line(line):
                    say(whole_words(text, columns() - 1))

    def _new(self, name: str, last: bool) -> list[str]:
        try:
            with (self._run / name).open("rb") as file:
                if file.seek(0, 2) < self._read[name]:  # the step was begun again
                    self._read[name] = 0
                file.seek(self._read[name])
                data = file.read()
        except OSError:
            return []
        whole = data if last else data[: data.rfind(b"\n") + 1]
        self._read[name] += len(whole)
        lines = whole.decode("utf-8", errors="replace").splitlines()
        return self._without_prompt(lines) if name == TRANSCRIPT else lines

    def _without_prompt(self, lines: list[str]) -> list[str]:
        """It stands at the beginning, after at most one line of ours."""
        first, self._lines = self._lines, self._lines + len(lines)
        if first <= 1 and lines and not self._hidden:
            self._hidden = prompt_lines(self._run, [""] * first + lines)
            if self._hidden:
                say(f"(the prompt: {self._run / PROMPT})")
        return [line for n, line in enumerate(lines, first) if n not in self._hidden]
