"""Which paths of a diff are tests, and which judge: by their names, the project's patterns and its commands."""

import re

from damascus import stacks
from damascus.domain.ports import Candidate, ChangedFile
from damascus.domain.spec import Spec
from damascus.evidence.gate_commands import commands_at

PARTS = re.compile(r"&&|\|\||[;|&\n()]")
ASSIGNMENT = re.compile(r"\w+=")
INTERPRETER = re.compile(r"env|exec|time|(ba|da|z|k)?sh|python[\d.]*|node|ruby|perl|deno|bun|php|\.|source")
WORD = re.compile(r"[^\s;&|()<>'\"=]+")


def test_paths(candidate: Candidate) -> list[str]:
    """The diff's tests, with whatever else the red run needs to be the same run."""
    return [file.path for file in candidate.changed if _belongs_to_tests(candidate, file)]


def is_test(candidate: Candidate, path: str) -> bool:
    """By its name, or by the story's own test contract, whatever the name is."""
    named = stacks.is_test(path, candidate.config.test.patterns)
    return named or (path in contract_tests(candidate.spec) and not _is_code(candidate, path))


def contract_tests(spec: Spec) -> list[str]:
    """The files of a test contract. One in a language that has tests among its code is code all the same."""
    return [one.file for one in spec.contracts if not stacks.tests_in_code(one.file)]


def is_judge(candidate: Candidate, file: ChangedFile) -> bool:
    """Does this change how the work is judged? Also a script of the base that a judging command runs does; a file that
    it merely looks at (`ruff check src/a.py`) does not."""
    commands = _commands(candidate)
    if any(stacks.is_judge(file.path, command) for command in commands):
        return True
    run = any(executes(command, file.path) for command in commands)
    return run and file.status != "A" and not is_test(candidate, file.path)


def code_paths(candidate: Candidate) -> list[str]:
    """What is judged: neither a test, nor what judges, nor gone."""
    return [
        file.path
        for file in candidate.changed
        if file.status != "D" and not is_test(candidate, file.path) and not is_judge(candidate, file)
    ]


def _belongs_to_tests(candidate: Candidate, file: ChangedFile) -> bool:
    if is_judge(candidate, file):
        return candidate.scope.names(file.path)
    command = candidate.spec.test_command
    return is_test(candidate, file.path) or (names(command, file.path) and not _is_code(candidate, file.path))


def _is_code(candidate: Candidate, path: str) -> bool:
    """A source that a command names for the examples in it (`pytest --doctest-modules src/a.py`): code, with tests
    inside. One that holds tests of its own, or is run as a script, is a test."""
    stack = stacks.stack_of(path)
    if stack is None or stack.inner_tests is None or executes(candidate.spec.test_command, path):
        return False
    source = candidate.read(candidate.commit, path) or b""
    inside = stack.inner_tests().may_hold(source.decode("utf-8", errors="replace"))
    return inside and not stacks.tests_in(source, path).tests


def _commands(candidate: Candidate) -> list[str]:
    asked = (text for each in commands_at(candidate).commands for text in (each.command, *each.runs))
    own = [*asked, *candidate.config.ci.jobs.values()]
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
