"""How commands of cargo are written: what selects by name, what ends at the first failure."""

import re

from damascus.stacks.stack import Habits

CARGO = re.compile(r"\bcargo (?:test|t)\b([^;&|\n]*)")
STOPS = re.compile(r"(?<!\S)--fail-?fast(?!\S)")
VALUES = frozenset(
    ["--test", "--package", "-p", "--bin", "--example", "--bench", "--features", "-F", "--manifest-path", "--target",
     "--profile", "--jobs", "-j", "--color", "--test-threads", "--skip", "--exclude", "--message-format", "--config",
     "--target-dir"]
)  # fmt: skip
"""Options whose next word is theirs; a word that belongs to none selects tests by name."""


def by_name(command: str) -> bool:
    cargo = CARGO.search(command)
    return cargo is not None and _filters(cargo[1].split())


def _filters(words: list[str]) -> bool:
    before = ["", *words]
    return any(not word.startswith("-") and last not in VALUES for last, word in zip(before, words, strict=False))


def to_the_end(command: str) -> str:
    """cargo ends at the first binary that fails: what comes behind ours would not be seen."""
    if "--no-fail-fast" in command:
        return command
    return re.sub(r"\bcargo (test|t)\b", r"cargo \1 --no-fail-fast", command)


HABITS = Habits(
    by_name=by_name,
    stops=lambda command, read: STOPS.search(command) is not None,
    to_the_end=to_the_end,
    alone_in="tests",
)
