"""Which tests a call of a runner asked for, by its words."""

import re
import shlex
from fnmatch import fnmatch
from pathlib import PurePosixPath

from damascus.domain.ports import RunnerCall, TestRun
from damascus.stacks import REGISTRY
from damascus.stacks.reports import STACK_OF_RUNNER
from damascus.stacks.unittest_words import ANYWHERE

BY_NAME = {
    "go": ("-run", "-skip", "-test.run", "-bench", "-fuzz"),
    "pytest": ("-k", "-m", "--deselect", "--lf", "--last-failed", "--sw", "--stepwise"),
    "node": ("--test-name-pattern", "--test-only", "--test-skip-pattern", "--test-shard"),
    "jest": ("-t", "--testNamePattern", "-o", "--onlyChanged", "--changedSince", "--shard", "--onlyFailures"),
    "vitest": ("-t", "--testNamePattern", "--changed", "related", "--shard"),
    "mocha": ("-g", "--grep", "-f", "--fgrep"),
    "rust": ("--exact", "--skip"),
}
"""Flags with which a runner leaves tests out that lie in the files it was asked for."""
DESELECTED = re.compile(r"\b\d{1,9} deselected\b")
TARGETS = ("--test", "--lib", "--bin", "--bins", "--example", "--doc", "-p", "--package", "--exclude", "--tests", "-E")


def selects_by_name(call: RunnerCall, run: TestRun) -> bool:
    words = _given(call, run.command)
    if call.runner == "pytest" and (any("::" in word for word in words) or DESELECTED.search(run.output[-2000:])):
        return True
    if call.runner == "rust":
        # A libtest filter is a word without a dash. nextest starts a binary for each of its tests, by exactly its name.
        return words[:1] != ["--exact"] and any(
            not word.startswith("-") or word.startswith(BY_NAME["rust"]) for word in words
        )
    if call.runner == "unittest":
        return any("::" in place for place in call.places) or any(word.startswith("-k") for word in words)
    return any(_is_flag(word, flag) for word in words for flag in BY_NAME.get(call.runner, ()))


def _given(call: RunnerCall, command: str) -> list[str]:
    """What a runner was given; pytest does not report it, so it is what stands behind its name in the command."""
    if call.runner != "pytest":
        return call.words
    words = _words(command)
    at = [number for number, word in enumerate(words) if PurePosixPath(word).name in ("pytest", "py.test")]
    return words[at[0] + 1 :] if at else []


def _is_flag(word: str, flag: str) -> bool:
    return word in (flag, f"-{flag}") or word.startswith((f"{flag}=", f"-{flag}="))


def covers(call: RunnerCall, path: str, command: str) -> bool:
    """Did this call ask for the file? By the places that it named, or by the runner's own rule where it named none."""
    stack = REGISTRY[STACK_OF_RUNNER[call.runner]]
    if call.runner == "go":
        return str(PurePosixPath(path).parent) in call.places
    if call.runner == "rust":
        return path in call.places or not any(word in TARGETS for word in _words(command))
    if call.runner == "unittest":
        return any(path == place or _discovers(place, path) for place in call.places)
    words = _given(call, command)
    named = [word for word in words if _is_place(word, path)]
    places = [word for word in words if not word.startswith("-") and ("/" in word or PurePosixPath(word).suffix)]
    if named:
        return True
    return not places and stack.tests.fullmatch(path) is not None and PurePosixPath(path).suffix != ".snap"


def _discovers(place: str, path: str) -> bool:
    folder, _, pattern = place.partition(ANYWHERE)
    below = folder == "." or path.startswith(f"{folder}/")
    return bool(pattern) and below and fnmatch(PurePosixPath(path).name, pattern)


def _is_place(word: str, path: str) -> bool:
    """A file, a folder or a pattern, as the runner was given it: relative to wherever it was called."""
    place = word.removeprefix("./").rstrip("/")
    if word.startswith("-") or not place:
        return False
    return path == place or path.startswith(f"{place}/") or path.endswith(f"/{place}") or fnmatch(path, f"*{place}")


def _words(command: str) -> list[str]:
    try:
        return shlex.split(command.replace(";", " ").replace("&", " ").replace("|", " "))
    except ValueError:
        return command.split()
