"""How commands of pytest and unittest are written: what selects by name, what ends at the first failure."""

import re

from damascus.stacks.stack import Habits, Later, ReadFile

BY_NAME = re.compile(r"::\w|(?<!\S)-k(?:[ =]|$)|-m unittest(?: -\S+)* +\w+(?:\.\w+){1,}")
STOPS = re.compile(r"(?<!\S)(?:--exitfirst|--maxfail[= ][1-9]\d*|--fail-?fast)(?!\S)")
PYTEST_STOPS = re.compile(r"(?<!\S)-[a-zA-Z]*x[a-zA-Z]*(?!\S)")
UNITTEST_STOPS = re.compile(r"(?<!\S)-[a-z]*f[a-z]*(?!\S)")
CONFIGS = ("pytest.ini", ".pytest.ini", "pyproject.toml", "setup.cfg", "tox.ini")
ADDOPTS = re.compile(r"^[ \t]*addopts\b[^\n]*(?:\n[ \t]+[^\n]*)*", re.M)


def by_name(command: str) -> bool:
    return BY_NAME.search(command) is not None


def stops(command: str, read: ReadFile) -> bool:
    if STOPS.search(command) or ("pytest" in command and PYTEST_STOPS.search(command.partition("pytest")[2])):
        return True
    if "unittest" in command and UNITTEST_STOPS.search(command.partition("unittest")[2]):
        return True
    options = [found for name in CONFIGS for found in ADDOPTS.findall(read(name))]
    quoted = (re.sub(r"[\"'\[\],]", " ", text) for text in options)
    return any(STOPS.search(text) or PYTEST_STOPS.search(text) for text in quoted)


HABITS = Habits(
    by_name=by_name,
    stops=stops,
    style=Later("damascus.stacks.python.canaries:style"),
    owes_skipped=False,  # a test inside a condition may not even be there
)
