"""Which tests a call of a runner asked for, by its words: as the runner's record says, else by flags and paths."""

import shlex
from fnmatch import fnmatch
from pathlib import PurePosixPath

from damascus.domain.ports import RunnerCall, TestRun
from damascus.stacks import REGISTRY, runner_called, stack_of_runner


def selects_by_name(call: RunnerCall, run: TestRun) -> bool:
    runner = runner_called(call.runner)
    if runner is None:
        return False
    return runner.selects()(call, run) if runner.selects else has_flag(call.words, runner.leaves_out)


def covers(call: RunnerCall, path: str, command: str) -> bool:
    """Did this call ask for the file? By the places that it named, or by the runner's own rule where it named none."""
    runner = runner_called(call.runner)
    return runner.covers()(call, path, command) if runner and runner.covers else by_words(call.runner, call.words, path)


def by_words(runner: str, words: list[str], path: str) -> bool:
    stack = stack_of_runner(runner)
    named = [word for word in words if _is_place(word, path)]
    places = [word for word in words if not word.startswith("-") and ("/" in word or PurePosixPath(word).suffix)]
    if named:
        return True
    is_test = stack is not None and stack.tests.fullmatch(path) is not None
    return not places and is_test and PurePosixPath(path).suffix != ".snap"


def has_flag(words: list[str], flags: tuple[str, ...]) -> bool:
    return any(_is_flag(word, flag) for word in words for flag in flags)


def _is_flag(word: str, flag: str) -> bool:
    return word in (flag, f"-{flag}") or word.startswith((f"{flag}=", f"-{flag}="))


def _is_place(word: str, path: str) -> bool:
    """A file, a folder or a pattern, as the runner was given it: relative to wherever it was called."""
    place = word.removeprefix("./").rstrip("/")
    if word.startswith("-") or not place:
        return False
    return path == place or path.startswith(f"{place}/") or path.endswith(f"/{place}") or fnmatch(path, f"*{place}")


def command_words(command: str) -> list[str]:
    try:
        return shlex.split(command.replace(";", " ").replace("&", " ").replace("|", " "))
    except ValueError:
        return command.split()


def command_selects_by_name(command: str) -> bool:
    """By the text of a command alone, whatever it starts."""
    return any(stack.habits.by_name(command) for stack in REGISTRY.values())
