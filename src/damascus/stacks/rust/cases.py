"""Rust tells the binary and the test: the file is found by reading where a function of that name stands."""

import re
from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath

from damascus.domain.ports import Case, RunnerCall, TestRun
from damascus.stacks.cases import FILES_LIMIT, WHOLE_TREE, TreeAfterRun, case_of, error_of
from damascus.stacks.selection import command_words
from damascus.stacks.told import ReportedCall

FUNCTION = re.compile(rb"\bfn[ \t]+(\w{1,300})")
TARGETS = ("--test", "--lib", "--bin", "--bins", "--example", "--doc", "-p", "--package", "--exclude", "--tests", "-E")


class RustCases:
    def cases(self, call: ReportedCall, tree: TreeAfterRun) -> Iterator[Case]:
        if call.runner == "cargo":
            return
        index = _functions(call.sources, tree)
        for told in call.tests:
            yield case_of(told, _of_module(index.get(told.name.rpartition("::")[2], []), told.name, call.sources))
        for status in call.groups.values():
            if status == "started":
                first = call.sources[0] if call.sources else WHOLE_TREE
                yield error_of(first, "the test binary ended before its tests did")

    def places(self, call: ReportedCall, tree: TreeAfterRun) -> list[str]:
        """The sources of the binary."""
        return call.sources

    def of_all(self, calls: Sequence[ReportedCall]) -> Iterator[Case]:
        """cargo builds everything before it runs anything: a failure before the first binary reaches every test."""
        failed = any(call.runner == "cargo" and call.end != 0 for call in calls)
        if failed and all(call.runner != "rust" for call in calls):
            yield error_of(WHOLE_TREE, "cargo could not build the tests")


def _functions(sources: list[str], tree: TreeAfterRun) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for path in sources[:FILES_LIMIT]:
        for name in set(FUNCTION.findall(tree.read(path))):
            found.setdefault(name.decode(), []).append(path)
    return found


def _of_module(files: list[str], name: str, sources: list[str]) -> str:
    """Of several files with a function of this name the one that is the nearest module of the test's path."""
    for module in reversed(name.split("::")[:-1]):
        for path in files:
            pure = PurePosixPath(path)
            if len(files) > 1 and module in (pure.stem, pure.parent.name if pure.stem == "mod" else ""):
                return path
    return next(iter([*files, *sources]), WHOLE_TREE)


def selects(call: RunnerCall, run: TestRun) -> bool:
    """A libtest filter is a word without a dash. nextest starts a binary for each of its tests, by exactly its name."""
    words = call.words
    return words[:1] != ["--exact"] and any(
        not word.startswith("-") or word.startswith(("--exact", "--skip")) for word in words
    )


def covers(call: RunnerCall, path: str, command: str) -> bool:
    return path in call.places or not any(word in TARGETS for word in command_words(command))


CASES = RustCases()
