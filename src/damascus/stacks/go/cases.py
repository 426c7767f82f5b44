"""Go tells the package and the test: the file is found by reading where a function of that name stands.

A package that could not be built stands as its test files, so that all tests in them count as red.
"""

import re
from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath

from damascus.domain.ports import Case, RunnerCall
from damascus.stacks.cases import FILES_LIMIT, WHOLE_TREE, TreeAfterRun, case_of, error_of
from damascus.stacks.told import ReportedCall

MODULE = re.compile(rb"^module[ \t]+\"?([^\s\"]{1,500})", re.MULTILINE)
TEST = re.compile(rb"^func[ \t]+((?:Test|Fuzz|Example|Benchmark)\w{0,300})[ \t]*\(", re.MULTILINE)


class GoCases:
    def cases(self, call: ReportedCall, tree: TreeAfterRun) -> Iterator[Case]:
        packages = _GoPackages(call, tree)
        if call.end != 0 and not call.groups:
            yield error_of(WHOLE_TREE, "go test could not begin")
        for told in call.tests:
            folder = packages.folder(told.group)
            yield case_of(told, packages.tests(folder).get(told.name.partition("/")[0], folder))
        failed = {told.group for told in call.tests if told.status in ("failed", "error")}
        for group, status in call.groups.items():
            if status in ("failed", "unbuilt") and group not in failed:
                folder = packages.folder(group)
                files = dict.fromkeys(packages.tests(folder).values()) or {folder: None}
                yield from (error_of(file, f"package {group} could not be built or run") for file in files)

    def places(self, call: ReportedCall, tree: TreeAfterRun) -> list[str]:
        """The folders of the packages."""
        packages = _GoPackages(call, tree)
        return [packages.folder(group) for group in call.groups]

    def of_all(self, calls: Sequence[ReportedCall]) -> Iterator[Case]:
        yield from ()


class _GoPackages:
    """Where the packages of one call lie, and the tests in each; each folder is read once."""

    def __init__(self, call: ReportedCall, tree: TreeAfterRun) -> None:
        self._call, self._tree = call, tree
        self._modules = list(_modules(tree))
        self._known: dict[str, dict[str, str]] = {}

    def folder(self, name: str) -> str:
        """Of a package: its module's, and what the import path says behind it."""
        call = self._call
        if name == "command-line-arguments":
            files = [PurePosixPath(call.folder, word).parent for word in call.words if word.endswith(".go")]
            return str(files[0]) if files else call.folder
        within = [(module, at) for module, at in self._modules if name == module or name.startswith(f"{module}/")]
        if not within:
            return name
        module, at = max(within, key=lambda pair: len(pair[0]))
        return str(PurePosixPath(at, name[len(module) :].strip("/")))

    def tests(self, folder: str) -> dict[str, str]:
        if folder not in self._known:
            self._known[folder] = {
                name.decode(): str(PurePosixPath(folder, file.name))
                for file in sorted(self._tree.inside(folder, "*_test.go"))[:FILES_LIMIT]
                for name in TEST.findall(self._tree.read(str(file.relative_to(self._tree.root))))
            }
        return self._known[folder]


def _modules(tree: TreeAfterRun) -> Iterator[tuple[str, str]]:
    for path in tree.locator.named("go.mod")[:FILES_LIMIT]:
        match = MODULE.search(tree.read(path))
        if match:
            yield match[1].decode("utf-8", "replace"), str(PurePosixPath(path).parent)


def covers(call: RunnerCall, path: str, command: str) -> bool:
    return str(PurePosixPath(path).parent) in call.places


CASES = GoCases()
