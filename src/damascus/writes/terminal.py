"""A person is asked about a write in the terminal: the coloured diff, then apply, edit or reject (A11)."""

import os
import select
import shlex
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from rich.console import Console

from damascus.system.scratch import scratch_folder
from damascus.writes import difference
from damascus.writes.inbox import NOBODY, STOPPED, TIME_LIMIT
from damascus.writes.person import WriteAnswer, WriteQuestion, parsed

PROMPT = "[a]pply, [e]dit, [r]eject: reason? "
POLL = 0.2
READ = 4096
ONE_AT_A_TIME = threading.Lock()


def has_terminal() -> bool:
    return sys.stdin.isatty() and sys.stdout.isatty()


@dataclass
class TerminalPerson:
    """`input` and `output` are the terminal's file descriptors."""

    stopping: Callable[[], bool]
    input: int = 0
    output: int = 1
    time_limit: float = TIME_LIMIT

    def ask(self, question: WriteQuestion) -> WriteAnswer:
        """Slots share one terminal: one question after the other."""
        with ONE_AT_A_TIME:
            self._show(question)
            deadline = time.monotonic() + self.time_limit
            while True:
                line = self._line(deadline)
                if line is None:
                    return WriteAnswer("reject", STOPPED if self.stopping() else NOBODY)
                answer = parsed(line)
                if answer is None:
                    continue
                return answer if answer.word != "edit" else self._edited(question)

    def _show(self, question: WriteQuestion) -> None:
        with open(self.output, "w", encoding="utf-8", closefd=False) as file:
            console = Console(file=file, highlight=False)
            head = f"{question.story}: {question.role} wants to write {question.proposal.path} ({question.tool})"
            console.print(head, style="bold", markup=False)
            console.print(difference.coloured(difference.lines(question.proposal)), end="")

    def _line(self, deadline: float) -> str | None:
        """One line; None at the end of the input, of the time or of the worker."""
        os.write(self.output, PROMPT.encode())
        while not self.stopping() and time.monotonic() < deadline:
            ready, _, _ = select.select([self.input], [], [], POLL)
            if ready:
                data = os.read(self.input, READ)
                return data.decode("utf-8", errors="replace") if data else None
        return None

    def _edited(self, question: WriteQuestion) -> WriteAnswer:
        """In the person's own editor, in a private file of the same kind."""
        editor = os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi"
        with tempfile.TemporaryDirectory(prefix="damascus-write-", dir=scratch_folder()) as folder:
            file = Path(folder) / PurePosixPath(question.proposal.path).name
            file.write_bytes(question.proposal.after)
            try:
                done = subprocess.run([*shlex.split(editor), str(file)], stdin=self.input, stdout=self.output)
            except (OSError, ValueError) as err:
                return WriteAnswer("reject", f"the editor {editor!r} could not be started: {err}")
            if done.returncode != 0:
                return WriteAnswer("reject", f"the editor {editor!r} ended with {done.returncode}")
            return WriteAnswer("edit", edited=file.read_bytes())
