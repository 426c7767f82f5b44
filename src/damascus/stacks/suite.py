"""The project's own suite: its whole test command, as damascus.toml names it or as the base's files tell it."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from damascus.domain.config import TestConfig
from damascus.stacks import Stack, detect, is_test, tests_in

NO_SUITE = "none"
NOTHING = "the project's own suite: there is none"
RED_TOO = "is red on main too"
READ_AT_MOST = 500

Read = Callable[[str], bytes | None]


@dataclass(frozen=True)
class Suite:
    """`found`: from the base's files, nobody wrote it down. `others`: stacks whose tests a found command leaves out."""

    command: str = ""
    found: bool = False
    others: tuple[str, ...] = ()

    def told(self, main: str, *, on_main: bool = True) -> str:
        """For people. `on_main`: the settings are there, and not in their folder only."""
        if not self.command:
            return NOTHING
        where = f"on {main}" if on_main else "of your folder, which does not hold yet"
        origin = f"found from {main}'s files" if self.found else f"[test] command in damascus.toml {where}"
        left_out = f"; the tests in {' and '.join(self.others)} are not part of it" if self.others else ""
        return f"`{self.command}` ({origin}{left_out})"

    def left_out(self) -> list[str]:
        """By name, what a found command does not run."""
        return [f"suite: the tests in {name} are not part of `{self.command}`" for name in self.others]


def suite_of(test: TestConfig, listing: Collection[str], read: Read) -> Suite:
    """The suite of a commit with these files, by the settings that hold there."""
    command = test.command.strip()
    if command:
        return Suite() if command.lower() == NO_SUITE else Suite(command)
    tested = [stack for stack in detect(listing) if _has_tests(stack, listing, test.patterns, read)]
    if not tested:
        return Suite()
    return Suite(tested[0].command(listing), True, tuple(stack.name for stack in tested[1:]))


def _has_tests(stack: Stack, listing: Collection[str], patterns: Sequence[str], read: Read) -> bool:
    own = [path for path in listing if PurePosixPath(path).suffix in stack.extensions]
    tests = [path for path in own if is_test(path, patterns) and PurePosixPath(path).name not in stack.no_tests]
    if stack.tests_in_code and not tests:
        return any(tests_in(read(path) or b"", path).tests for path in sorted(own)[:READ_AT_MOST])
    return bool(tests) and stack.has_command(listing, read)
