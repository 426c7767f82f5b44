"""Which paths of a diff are tests, and which judge: by their names, the project's patterns and its commands."""

import re

from damascus import stacks
from damascus.domain.ports import Candidate, ChangedFile

WORD = re.compile(r"[^\s;&|()<>'\"=]+")


def test_paths(candidate: Candidate) -> list[str]:
    """The diff's tests, with whatever else the red run needs to be the same run."""
    return [file.path for file in candidate.changed if _belongs_to_tests(candidate, file)]


def is_test(candidate: Candidate, path: str) -> bool:
    return stacks.is_test(path, candidate.config.test.patterns)


def is_judge(candidate: Candidate, file: ChangedFile) -> bool:
    """Does this change how the work is judged? Also a script of the base that a judging command names does."""
    commands = _commands(candidate)
    if any(stacks.is_judge(file.path, command) for command in commands):
        return True
    named = any(names(command, file.path) for command in commands)
    return named and file.status != "A" and not is_test(candidate, file.path)


def _belongs_to_tests(candidate: Candidate, file: ChangedFile) -> bool:
    if is_judge(candidate, file):
        return candidate.scope.names(file.path)
    return is_test(candidate, file.path) or names(candidate.spec.test_command, file.path)


def _commands(candidate: Candidate) -> list[str]:
    own = [*candidate.config.gates.commands.values(), *candidate.config.ci.jobs.values()]
    return [candidate.spec.test_command, *own]


def names(command: str, path: str) -> bool:
    return path in named_paths(command)


def named_paths(command: str) -> list[str]:
    """Words of a command that may be paths; `tests/test_a.py::test_b` names its file."""
    return [word.split("::")[0].removeprefix("./") for word in WORD.findall(command)]
