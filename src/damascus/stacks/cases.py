"""From what runners told to tests of the tree: each with the file that it is written in.

A runner that tells the file of each test needs no more than what is here. The others' stacks say where their tests lie
(`Stack.cases`), by reading the checkout after the run.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Literal, Protocol, cast

from damascus.domain.ports import Case
from damascus.stacks import REGISTRY, stack_of_runner
from damascus.stacks.locate import Locator
from damascus.stacks.told import ReportedCall, ReportedTest
from damascus.stacks.written import READ_LIMIT

Status = Literal["passed", "failed", "error", "skipped", "xfailed"]
WHOLE_TREE = "."
CUT_OFF = "damascus: unittest did not come to its end"
FILES_LIMIT = 2_000
WORST = ("error", "failed", "passed", "skipped", "xfailed")
"""Of several results of one test the first of these counts."""


@dataclass(frozen=True)
class TreeAfterRun:
    """A tree after the run. `read_plain` reads at most so many bytes of a plain file, and no link."""

    root: Path
    read_plain: Callable[[Path, int], bytes | None]

    @cached_property
    def locator(self) -> Locator:
        return Locator(self.root)

    def read(self, path: str) -> bytes:
        place = self.root / path
        inside = os.path.realpath(place.parent).startswith(os.path.realpath(self.root))
        return (self.read_plain(place, READ_LIMIT) or b"") if inside else b""

    def inside(self, folder: str, pattern: str) -> list[Path]:
        place = self.root / folder
        inside = os.path.realpath(place).startswith(os.path.realpath(self.root))
        return list(place.glob(pattern)) if inside and place.is_dir() else []


class CaseFinder(Protocol):
    """One stack's way from a call of its runners to tests with their files."""

    def cases(self, call: ReportedCall, tree: TreeAfterRun) -> Iterator[Case]: ...
    def places(self, call: ReportedCall, tree: TreeAfterRun) -> list[str]:
        """What a call looked at: files, folders, or what its runner's `covers` reads."""
        ...

    def of_all(self, calls: Sequence[ReportedCall]) -> Iterator[Case]:
        """What only all calls together say."""
        ...


class NamedFiles:
    """For runners that tell the file of each test."""

    def cases(self, call: ReportedCall, tree: TreeAfterRun) -> Iterator[Case]:
        yield from (case for told in call.tests if (case := self._case(call, told, tree)) is not None)

    def places(self, call: ReportedCall, tree: TreeAfterRun) -> list[str]:
        return call.sources

    def of_all(self, calls: Sequence[ReportedCall]) -> Iterator[Case]:
        yield from ()

    def _case(self, call: ReportedCall, told: ReportedTest, tree: TreeAfterRun) -> Case | None:
        """None for what node tells of a file that has no test and ended well: it says nothing."""
        file = below(told.file, call.root)
        file = (tree.locator.path(file) or file) if file else ""
        if below(told.name, call.root) in (file, told.file):
            return None if told.status == "passed" else error_of(file, told.message)
        return case_of(told, file)


def cases_of(calls: Iterable[ReportedCall], tree: TreeAfterRun) -> list[Case]:
    """Every test once."""
    calls = list(calls)
    found: dict[str, Case] = {}
    everywhere = (case for finder in _finders() for case in finder.of_all(calls))
    for case in [*everywhere, *(case for call in calls for case in _cases(call, tree))]:
        known = found.get(case.id)
        if known is None or WORST.index(case.status) < WORST.index(known.status):
            found[case.id] = case
    return list(found.values())


def places_of(call: ReportedCall, tree: TreeAfterRun) -> list[str]:
    return _finder(call).places(call, tree)


def _cases(call: ReportedCall, tree: TreeAfterRun) -> Iterator[Case]:
    if call.broken:
        yield error_of(WHOLE_TREE, f"the report of {call.runner} can't be read")
    yield from _finder(call).cases(call, tree)


def _finder(call: ReportedCall) -> CaseFinder:
    stack = stack_of_runner(call.runner)
    return stack.cases() if stack is not None and stack.cases is not None else NamedFiles()


def _finders() -> Iterator[CaseFinder]:
    yield from (stack.cases() for stack in REGISTRY.values() if stack.cases is not None)


def below(path: str, root: str) -> str:
    return path.removeprefix("file://").removeprefix(root.rstrip("/") + "/") if root else path


def case_of(told: ReportedTest, file: str) -> Case:
    name = f"{file}::{told.name}" if file else told.name
    return Case(id=name, status=status_of(told), file=file, text=told.name, message=told.message)


def status_of(told: ReportedTest) -> Status:
    return "error" if told.status == "started" else cast(Status, told.status)


def error_of(place: str, message: str) -> Case:
    return Case(id=place, status="error", file="" if place == WHOLE_TREE else place, message=message)
