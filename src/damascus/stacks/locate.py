"""Which file of the tree a test of a report lies in: runners name it relative to their own root, or as a module."""

import os
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePosixPath

from damascus.domain.ports import Case

WALK_LIMIT = 50_000


@dataclass(frozen=True)
class Locator:
    """Looks in one checkout; only whether a file is there counts, never what it says. `seen` is where a runner in it
    sees the checkout, if not at `root`."""

    root: Path
    seen: str = ""

    def case(self, case: Case) -> Case:
        if case.file:
            file = self.path(case.file)
            return case if file in (None, case.file) else _at(case, file, case.id.removeprefix(case.file))
        return self._module_case(case)

    def path(self, told: str) -> str | None:
        """The told path itself if it is there, else the only file that ends in it (`cd sub && pytest`)."""
        told = told.removeprefix(f"{self.seen or self.root}/")
        pure = PurePosixPath(told)
        if pure.is_absolute() or ".." in pure.parts:
            return None
        if (self.root / told).is_file():
            return told
        ends = [path for path in self._by_name.get(pure.name, []) if path.endswith("/" + told)]
        return ends[0] if len(ends) == 1 else None

    def named(self, name: str) -> list[str]:
        """Every file of this name."""
        return self._by_name.get(name, [])

    def _module_case(self, case: Case) -> Case:
        """unittest's `package.module.Class.test` → `package/module.py::Class::test`."""
        parts = case.id.split(".")
        for size in range(len(parts), 0, -1):
            file = self.path("/".join(parts[:size]) + ".py")
            if file is not None:
                return _at(case, file, "".join(f"::{part}" for part in parts[size:]))
        return case

    @cached_property
    def _by_name(self) -> dict[str, list[str]]:
        names: dict[str, list[str]] = {}
        seen = 0
        for folder, _, files in os.walk(self.root):
            seen += len(files)
            if seen > WALK_LIMIT:
                break
            inside = os.path.relpath(folder, self.root)
            for name in files:
                names.setdefault(name, []).append(f"{inside}/{name}".removeprefix("./"))
        return names


def _at(case: Case, file: str | None, rest: str) -> Case:
    return case.model_copy(update={"id": f"{file}{rest}", "file": file or ""})
