"""Which paths of a diff are tests, and which judge: by their names, the project's patterns and its commands."""

import re

from damascus import stacks
from damascus.domain.ports import Candidate, ChangedFile

PARTS = re.compile(r"&&|\|\||[;|&\n()]")
ASSIGNMENT = re.compile(r"\w+=")
INTERPRETER = re.compile(r"env|exec|time|(ba|da|z|k)?sh|python[\d.]*|node|ruby|perl|deno|bun|php|\.|source")
WORD = re.compile(r"[^\s;&|()<>'\"=]+")


def test_paths(candidate: Candidate) -> list[str]:
    """The diff's tests, with whatever else the red run needs to be the same run."""
    return [file.path for file in candidate.changed if _belongs_to_tests(candidate, file)]


def is_test(candidate: Candidate, path: str) -> bool:
    return stacks.is_test(path, candidate.config.test.patterns)


def is_judge(candidate: Candidate, file: ChangedFile) -> bool:
    """Does this change how the work is judged? Also a script of the base that a judging command runs does; a file that
    it merely looks at (`ruff check src/a.py`) does not."""
    commands = _commands(candidate)
    if any(stacks.is_judge(file.path, command) for command in commands):
        return True
    run = any(executes(command, file.path) for command in commands)
    return run and file.status != "A" and not is_test(candidate, file.path)


def _belongs_to_tests(candidate: Candidate, file: ChangedFile) -> bool:
    if is_judge(candidate, file):
        return candidate.scope.names(file.path)
    return is_test(candidate, file.path) or names(candidate.spec.test_command, file.path)


def _commands(candidate: Candidate) -> list[str]:
    own = [*candidate.config.gates.commands.values(), *candidate.config.ci.jobs.values()]
    return [candidate.spec.test_command, candidate.config.test.command, *own]


def executes(command: str, path: str) -> bool:
    """Is this path the program of one of the command's parts, or the script of an interpreter?"""
    for part in PARTS.split(command):
        words = [word.removeprefix("./") for word in part.split() if not ASSIGNMENT.match(word)]
        if words and INTERPRETER.fullmatch(words[0].rsplit("/", 1)[-1]):
            words = [word for word in words[1:] if not word.startswith("-")]
        if words and words[0].strip("'\"") == path:
            return True
    return False


def names(command: str, path: str) -> bool:
    return path in named_paths(command)


def named_paths(command: str) -> list[str]:
    """Words of a command that may be paths; `tests/test_a.py::test_b` names its file."""
    return [word.split("::")[0].removeprefix("./") for word in WORD.findall(command)]
