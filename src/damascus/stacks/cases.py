"""From what runners told to tests of the tree: each with the file that it is written in.

Go tells the package and the test, Rust the binary and the test: their files are found by reading where a function of
that name stands. A package that could not be built stands as its test files, so that all tests in them count as red.
"""

import os
import re
from collections.abc import Iterable, Iterator
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import Literal, cast

from damascus.domain.ports import Case
from damascus.stacks.locate import Locator
from damascus.stacks.stack import READ_LIMIT
from damascus.stacks.told import Call, Told
from damascus.stacks.unittest_words import given
from damascus.system.plain_file import read_plain

Status = Literal["passed", "failed", "error", "skipped", "xfailed"]
WHOLE_TREE = "."
CUT_OFF = "damascus: unittest did not come to its end"
UNENDED = "it did not run to its end"
MODULE = re.compile(rb"^module[ \t]+\"?([^\s\"]{1,500})", re.MULTILINE)
GO_TEST = re.compile(rb"^func[ \t]+((?:Test|Fuzz|Example|Benchmark)\w{0,300})[ \t]*\(", re.MULTILINE)
RUST_FN = re.compile(rb"\bfn[ \t]+(\w{1,300})")
FILES_LIMIT = 2_000
WORST = ("error", "failed", "passed", "skipped", "xfailed")
"""Of several results of one test the first of these counts."""


def cases_of(calls: Iterable[Call], finder: "Finder") -> list[Case]:
    """Every test once."""
    calls = list(calls)
    found: dict[str, Case] = {}
    for case in [*_unbuilt(calls), *(case for call in calls for case in finder.cases(call))]:
        known = found.get(case.id)
        if known is None or WORST.index(case.status) < WORST.index(known.status):
            found[case.id] = case
    return list(found.values())


def _unbuilt(calls: list[Call]) -> Iterator[Case]:
    """cargo builds everything before it runs anything: a failure before the first binary reaches every test."""
    if any(call.runner == "cargo" and call.end != 0 for call in calls) and all(call.runner != "rust" for call in calls):
        yield _error(WHOLE_TREE, "cargo could not build the tests")


class Finder:
    """One checkout, after the run: what stands in its sources."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._locator = Locator(root)
        self._tests_of: dict[str, dict[str, str]] = {}

    def cases(self, call: Call) -> Iterator[Case]:
        if call.broken:
            yield _error(WHOLE_TREE, f"the report of {call.runner} can't be read")
        match call.runner:
            case "go":
                yield from self._go(call)
            case "rust":
                yield from self._rust(call)
            case "cargo":
                yield from ()
            case "unittest":
                yield from self._unittest(call)
            case _:
                yield from (case for told in call.tests if (case := self._node(call, told)) is not None)

    def places(self, call: Call) -> list[str]:
        """What a call looked at: the folders of Go's packages, the sources of a Rust binary, unittest's words."""
        match call.runner:
            case "go":
                return [self._package(call, group) for group in call.groups]
            case "unittest":
                return given(call.words, call.folder, call.root, self._locator)
            case _:
                return call.sources

    # ── Go ────────────────────────────────────────────────────────────────────────────────────────────

    def _go(self, call: Call) -> Iterator[Case]:
        if call.end != 0 and not call.groups:
            yield _error(WHOLE_TREE, "go test could not begin")
        for told in call.tests:
            folder = self._package(call, told.group)
            file = self._go_tests(folder).get(told.name.partition("/")[0], folder)
            yield _case(told, file)
        failed = {told.group for told in call.tests if told.status in ("failed", "error")}
        for group, status in call.groups.items():
            if status in ("failed", "unbuilt") and group not in failed:
                folder = self._package(call, group)
                files = dict.fromkeys(self._go_tests(folder).values()) or {folder: None}
                yield from (_error(file, f"package {group} could not be built or run") for file in files)

    def _package(self, call: Call, name: str) -> str:
        """The folder of a Go package: its module's, and what the import path says behind it."""
        if name == "command-line-arguments":
            files = [PurePosixPath(call.folder, word).parent for word in call.words if word.endswith(".go")]
            return str(files[0]) if files else call.folder
        within = [(module, at) for module, at in self._modules if name == module or name.startswith(f"{module}/")]
        if not within:
            return name
        module, at = max(within, key=lambda pair: len(pair[0]))
        return str(PurePosixPath(at, name[len(module) :].strip("/")))

    @cached_property
    def _modules(self) -> list[tuple[str, str]]:
        found = []
        for path in self._locator.named("go.mod")[:FILES_LIMIT]:
            match = MODULE.search(self._read(path))
            if match:
                found.append((match[1].decode("utf-8", "replace"), str(PurePosixPath(path).parent)))
        return found

    def _go_tests(self, folder: str) -> dict[str, str]:
        if folder not in self._tests_of:
            self._tests_of[folder] = {
                name.decode(): str(PurePosixPath(folder, file.name))
                for file in sorted(self._inside(folder, "*_test.go"))[:FILES_LIMIT]
                for name in GO_TEST.findall(self._read(str(file.relative_to(self._root))))
            }
        return self._tests_of[folder]

    def _inside(self, folder: str, pattern: str) -> list[Path]:
        place = self._root / folder
        inside = os.path.realpath(place).startswith(os.path.realpath(self._root))
        return list(place.glob(pattern)) if inside and place.is_dir() else []

    # ── Rust ──────────────────────────────────────────────────────────────────────────────────────────

    def _rust(self, call: Call) -> Iterator[Case]:
        index = self._functions(call.sources)
        for told in call.tests:
            yield _case(told, _of_module(index.get(told.name.rpartition("::")[2], []), told.name, call.sources))
        for status in call.groups.values():
            if status == "started":
                first = call.sources[0] if call.sources else WHOLE_TREE
                yield _error(first, "the test binary ended before its tests did")

    def _functions(self, sources: list[str]) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for path in sources[:FILES_LIMIT]:
            for name in set(RUST_FN.findall(self._read(path))):
                found.setdefault(name.decode(), []).append(path)
        return found

    # ── Python ────────────────────────────────────────────────────────────────────────────────────────

    def _unittest(self, call: Call) -> Iterator[Case]:
        """A run that began and never ended has failed, whatever was told of its tests; so has such a test."""
        begun: dict[tuple[str, str], Case] = {}
        for told in call.tests:
            case = self._python_case(call, told)
            if told.status == "started":
                begun[told.file, told.name] = case.model_copy(update={"status": "error", "message": UNENDED})
            else:
                begun.pop((told.file, told.name), None)
                yield case
        yield from begun.values()
        if call.end is None:
            yield Case(id=CUT_OFF, status="error", message="unittest ended before its tests did")

    def _python_case(self, call: Call, told: Told) -> Case:
        """As pytest calls it: the file, the classes, the test; a file that could not be loaded by its path."""
        below = _below(told.file, call.root)
        file = (self._locator.path(below) or below) if below else ""
        name = "::".join(part for part in (file, told.name) if part)
        written = _below(told.group, call.root)
        case = Case(id=name, status=_status(told), file=file, text=told.name, message=told.message, written=written)
        return case if file else self._locator.case(case)

    # ── JavaScript ────────────────────────────────────────────────────────────────────────────────────

    def _node(self, call: Call, told: Told) -> Case | None:
        """None for what node tells of a file that has no test and ended well: it says nothing."""
        file = _below(told.file, call.root)
        file = (self._locator.path(file) or file) if file else ""
        if _below(told.name, call.root) in (file, told.file):
            return None if told.status == "passed" else _error(file, told.message)
        return _case(told, file)

    def _read(self, path: str) -> bytes:
        place = self._root / path
        inside = os.path.realpath(place.parent).startswith(os.path.realpath(self._root))
        return (read_plain(place, READ_LIMIT) or b"") if inside else b""


def _of_module(files: list[str], name: str, sources: list[str]) -> str:
    """Of several files with a function of this name the one that is the nearest module of the test's path."""
    for module in reversed(name.split("::")[:-1]):
        for path in files:
            pure = PurePosixPath(path)
            if len(files) > 1 and module in (pure.stem, pure.parent.name if pure.stem == "mod" else ""):
                return path
    return next(iter([*files, *sources]), WHOLE_TREE)


def _below(path: str, root: str) -> str:
    return path.removeprefix("file://").removeprefix(root.rstrip("/") + "/") if root else path


def _case(told: Told, file: str) -> Case:
    status = _status(told)
    name = f"{file}::{told.name}" if file else told.name
    return Case(id=name, status=status, file=file, text=told.name, message=told.message)


def _status(told: Told) -> Status:
    return "error" if told.status == "started" else cast(Status, told.status)


def _error(place: str, message: str) -> Case:
    return Case(id=place, status="error", file="" if place == WHOLE_TREE else place, message=message)
