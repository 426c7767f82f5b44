"""Which tests a call of pytest or unittest asked for."""

import re
from fnmatch import fnmatch
from pathlib import PurePosixPath

from damascus.domain.ports import RunnerCall, TestRun
from damascus.stacks.python import PYTEST
from damascus.stacks.python.unittest_words import ANYWHERE
from damascus.stacks.selection import by_words, command_words, has_flag

DESELECTED = re.compile(r"\b\d{1,9} deselected\b")


def pytest_selects(call: RunnerCall, run: TestRun) -> bool:
    words = _given(run.command)
    if any("::" in word for word in words) or DESELECTED.search(run.output[-2000:]):
        return True
    return has_flag(words, PYTEST.leaves_out)


def pytest_covers(call: RunnerCall, path: str, command: str) -> bool:
    return by_words("pytest", _given(command), path)


def _given(command: str) -> list[str]:
    """pytest does not report what it was given, so it is what stands behind its name in the command."""
    words = command_words(command)
    at = [number for number, word in enumerate(words) if PurePosixPath(word).name in ("pytest", "py.test")]
    return words[at[0] + 1 :] if at else []


def unittest_selects(call: RunnerCall, run: TestRun) -> bool:
    return any("::" in place for place in call.places) or any(word.startswith("-k") for word in call.words)


def unittest_covers(call: RunnerCall, path: str, command: str) -> bool:
    return any(path == place or _discovers(place, path) for place in call.places)


def _discovers(place: str, path: str) -> bool:
    folder, _, pattern = place.partition(ANYWHERE)
    inside = folder == "." or path.startswith(f"{folder}/")
    return bool(pattern) and inside and fnmatch(PurePosixPath(path).name, pattern)
