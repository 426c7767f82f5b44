"""The stacks we know, and what the tree asks of all of them. A new one is its record and a line in the registry."""

from collections.abc import Collection, Sequence
from pathlib import PurePosixPath

from damascus.domain.scope import glob_regex
from damascus.stacks import go, node, python, rust
from damascus.stacks.stack import Runner, Stack, paths
from damascus.stacks.written import READ_LIMIT, WrittenFile, WrittenTest

REGISTRY: dict[str, Stack] = {stack.name: stack for stack in (python.STACK, node.STACK, go.STACK, rust.STACK)}

TEST_FOLDER = paths(r"(?:tests?|specs?|testing|e2e)/.*")
JUDGES_EVERYWHERE = paths(r"\.pre-commit-config\.ya?ml")
MAKEFILES = paths(r"(?:GNU)?[Mm]akefile", r"[^/]*\.mk", r"[Jj]ustfile", r"Taskfile\.ya?ml")

__all__ = [
    "REGISTRY",
    "Stack",
    "WrittenFile",
    "WrittenTest",
    "default_command",
    "detect",
    "is_judge",
    "is_test",
    "parsed_here",
    "runner_called",
    "stack_of",
    "stack_of_runner",
    "tests_in",
    "tests_in_code",
    "written_name",
]


def detect(listing: Collection[str]) -> list[Stack]:
    """The stacks of a tree, those with a project file at its root first."""
    names = set(listing)
    rooted = [stack for stack in REGISTRY.values() if names.intersection(stack.roots)]
    suffixes = {PurePosixPath(path).suffix for path in names}
    used = [stack for stack in REGISTRY.values() if suffixes.intersection(stack.extensions)]
    return [*rooted, *(stack for stack in used if stack not in rooted)]


def default_command(listing: Collection[str]) -> str | None:
    stacks = detect(listing)
    return stacks[0].command(listing) if stacks else None


def is_test(path: str, extra_patterns: Sequence[str] = ()) -> bool:
    """Is this path part of the tests, by its folder, its name or the project's own patterns?"""
    if TEST_FOLDER.fullmatch(path) or any(stack.tests.fullmatch(path) for stack in REGISTRY.values()):
        return True
    return any(glob_regex(pattern).fullmatch(path) for pattern in extra_patterns)


def is_judge(path: str, command: str = "") -> bool:
    """Does this file change how tests and gates judge? A Makefile does where the command is a make target."""
    if JUDGES_EVERYWHERE.fullmatch(path) or any(stack.judges.fullmatch(path) for stack in REGISTRY.values()):
        return True
    words = command.replace(";", " ").replace("&", " ").split()
    runs_make = any(PurePosixPath(word).name in ("make", "gmake", "just", "task") for word in words)
    return runs_make and MAKEFILES.fullmatch(path) is not None


def stack_of(path: str) -> Stack | None:
    suffix = _suffix(path)
    return next((stack for stack in REGISTRY.values() if suffix in stack.extensions), None)


def _suffix(path: str) -> str:
    """As pathlib's, which makes an object of parts first: every gate asks it of every file."""
    name = path.rpartition("/")[2]
    dot = name.rfind(".")
    return name[dot:] if 0 < dot < len(name) - 1 else ""


def runner_called(name: str) -> Runner | None:
    return next((each for stack in REGISTRY.values() for each in stack.runners if each.name == name), None)


def stack_of_runner(name: str) -> Stack | None:
    """Whose tests a runner runs, by the name in its reports."""
    return next((stack for stack in REGISTRY.values() if any(each.name == name for each in stack.runners)), None)


def tests_in_code(path: str) -> bool:
    """May this file of code hold tests, too?"""
    stack = stack_of(path)
    return stack is not None and stack.tests_in_code


def parsed_here(path: str) -> bool:
    """Is this file compiled in the scanner's process? That runs nothing of it."""
    stack = stack_of(path)
    return stack is not None and stack.parsed_here


def written_name(test: str) -> tuple[str, str]:
    """The file of a reported test, and the name that it has there: `a_test.go::TestA/sub` is TestA of a_test.go."""
    path, _, name = test.partition("::")
    stack = stack_of(path)
    return path, stack.written(name) if stack else name


def tests_in(source: bytes, path: str) -> WrittenFile:
    """The tests of one file, read from its text alone. Nothing of a language we don't know."""
    stack = stack_of(path)
    if stack is None or stack.read is None or len(source) > READ_LIMIT:
        return WrittenFile(unread=stack is not None and stack.read is not None)
    return stack.read()(source.decode("utf-8", errors="replace"))
