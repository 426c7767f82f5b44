"""One report: a file of JSON lines for each call of a runner. What was called, each test, the end.

The folder's name reaches this process by the environment and goes no further: the tests' own processes don't get it.
"""

import json
import os
import uuid

FOLDER, ROOT, LINES = "RUNNER_REPORTS", "RUNNER_ROOT", "RUNNER_LINES"
"""Where reports go, the checkout that they tell of, and where it is told which lines ran, if anybody asks."""
MESSAGE_LIMIT = 300
TESTS_LIMIT = 100_000


class ReportFile:
    """Written line by line: of a runner that was killed there is the beginning, and no end."""

    def __init__(self, runner: str, words: list[str], folder: str) -> None:
        root = os.environ.get(ROOT, "/")
        self._tests = 0
        reports = os.environ.get(FOLDER)
        path = os.path.join(reports, f"{runner}-{uuid.uuid4().hex}.jsonl") if reports else os.devnull
        try:
            self._fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        except OSError:
            self._fd = os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC)
        self.write({"runner": runner, "words": words, "folder": os.path.relpath(folder, root), "root": root})

    def write(self, line: "dict[str, object]") -> None:
        os.write(self._fd, json.dumps(line).encode() + b"\n")

    def test(self, group: str, name: str, status: str, message: str = "") -> None:
        self._tests += 1
        if self._tests <= TESTS_LIMIT:
            self.write({"test": name, "in": group, "status": status, "message": message[:MESSAGE_LIMIT]})

    def end(self, exit_code: int) -> None:
        self.write({"end": exit_code})


def environment_of_tests() -> "dict[str, str]":
    """Ours without where reports go."""
    return {name: value for name, value in os.environ.items() if name not in (FOLDER, ROOT, LINES)}


def next_program(name: str, ours: str) -> "str | None":
    """The program that would have been started without us: the first of this name in another folder of PATH."""
    for folder in os.environ.get("PATH", "").split(os.pathsep):
        path = os.path.join(folder, name)
        if folder and os.path.realpath(folder) != os.path.realpath(ours) and os.access(path, os.X_OK):
            return path
    return None


def exit_as(returncode: int) -> int:
    """The exit code that a shell gives for a child's end."""
    return returncode if returncode >= 0 else 128 - returncode
