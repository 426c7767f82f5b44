"""Copies and builds of the project's own sources among what set-up made: they would be judged in a candidate's place.

    pip install .        a copy in site-packages          use `pip install -e .`
    npm run build        dist/ beside the sources          build in the test command
    setup.py build_ext   an extension in place             build in the test command

A path that means the checkout (an editable install, a link) is none: it means the candidate. Packages of others are
none either, so nothing is told by its name alone: a copy has the content of one of the base's files at its place, a
build says so itself (a map, a record) or lies where only a build of these sources does.
"""

import posixpath
from collections.abc import Collection, Iterator
from pathlib import Path

from damascus.git.made import files_below, holds_packages
from damascus.git.own_builds import compiled
from damascus.stacks.own_code import Check, Own, Sources, own_code_checks


def own_products(ours: Sources, roots: Collection[str], home: Path) -> Iterator[Own]:
    """Every one that is found, in what was made in the tree and in the command's HOME."""
    foreign, stacks = _Packages(ours.root), own_code_checks()
    in_packages = tuple(check for each in stacks for check in each.in_packages)
    outside = (*(check for each in stacks for check in each.outside), compiled)
    at_home = tuple(check for each in stacks for check in each.at_home)
    for root in roots:
        for path in files_below(ours.root / root):
            name = path.relative_to(ours.root).as_posix()
            checks = in_packages if foreign.hold(posixpath.dirname(name)) else outside
            yield from _found(checks, ours, path, name)
    for path in files_below(home):
        yield from _found(at_home, ours, path, f"$HOME/{path.relative_to(home).as_posix()}")


def _found(checks: tuple[Check, ...], ours: Sources, path: Path, name: str) -> Iterator[Own]:
    if not path.is_symlink():
        yield from (own for check in checks if (own := check(ours, path, name)) is not None)


class _Packages:
    """Which folders lie among packages of others; each is looked at once."""

    def __init__(self, root: Path) -> None:
        self._root, self._known = root, {"": False}

    def hold(self, folder: str) -> bool:
        if folder not in self._known:
            above = self.hold(posixpath.dirname(folder))
            self._known[folder] = above or holds_packages(self._root / folder)
        return self._known[folder]


def refusal(found: Own, command: str) -> str:
    return (
        f"the set-up command of [workspace] ({command!r}) leaves {found.what} at {found.path}, which would be tested "
        f"in place of a story's own code. On main, {found.instead} instead; then retry."
    )
