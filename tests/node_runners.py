"""The real jest, vitest and mocha, from `make components`: every checkout of a project has them in its node_modules."""

import os
import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest

from damascus.evidence.runner import CleanRunner
from tests.gates.judging import Judging
from tests.toolchains import need_program

INSTALLED = Path(__file__).parents[1] / ".components" / "node-runners" / "node_modules"
INSTALL = "make components"


def installed(needed: tuple[str, ...] = ("jest", "vitest", "mocha")) -> Path:
    """Where they really lie. On CI a skip fails (conftest)."""
    need_program("node")
    if not all((INSTALLED / name / "package.json").is_file() for name in needed):
        pytest.skip(f"{', '.join(needed)} are missing: {INSTALL}")
    return INSTALLED.resolve()


def node_project(
    folder: Path,
    files: Mapping[str, str],
    *,
    copied: bool = False,
    needed: tuple[str, ...] = ("jest", "vitest", "mocha"),
    without: str = "",
) -> Judging:
    """`copied`: as npm lays packages out; else they are links to one store, as pnpm has them. `without` is a package
    of a scope (`@of/name`) that this project lacks."""
    source = installed(needed)
    judging = Judging.of(folder, {".gitignore": "node_modules/\n", **files})

    def prepare(checkout: Path) -> dict[str, str]:
        judging.checkouts.append(checkout)
        if copied:
            shutil.copytree(source, checkout / "node_modules", symlinks=True)
        else:
            _link(source, checkout / "node_modules")
        if without:
            _take_away(checkout / "node_modules" / without)
        return {}

    judging.runner = CleanRunner(
        judging.mirror, folder / "c", prepare, upstreams=lambda: {"NODE_RUNNERS": source.parent}
    )
    return judging


def _link(source: Path, target: Path) -> None:
    target.mkdir()
    for entry in os.scandir(source):
        (target / entry.name).symlink_to(entry.path)


def _take_away(package: Path) -> None:
    """Of a scope that is a link to everybody's, the rest."""
    scope = package.parent
    real = scope.resolve()
    scope.unlink()
    _link(real, scope)
    (scope / package.name).unlink()
