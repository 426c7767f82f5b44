"""Formats from which work comes in. A new one is a small file with `read` and `ticked`, and a line in the registry."""

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from damascus.tasks.importers import backlog, beads, kiro, openspec, spec_kit, taskmaster
from damascus.tasks.importers.record import Box, Files, Imported, Ticked


@dataclass(frozen=True)
class Importer:
    """One format. `main` is the path of a file that has tasks, `beside` of one that is read with it."""

    name: str
    looks_like: str
    main: re.Pattern[str]
    beside: re.Pattern[str] | None
    read: Callable[[Files], list[Imported]]
    ticked: Callable[[bytes, Sequence[Box]], Ticked]
    writes: bool = True
    """Whether boxes can be ticked in its files."""
    suffix: str = ".md"
    """Of a single file that may be of this format, wherever it lies."""

    def wants(self, path: str) -> bool:
        return bool(self.main.search(path) or (self.beside and self.beside.search(path)))


def _of(*parts: str) -> re.Pattern[str]:
    return re.compile(r"(?:^|/)(?:" + "|".join(parts) + r")\Z")


CHANGE = r"openspec/changes/(?!archive/)[^/]+"
FOUND = (
    Importer(
        "spec-kit",
        "specs/NNN-name/tasks.md",
        _of(r"(?<!\.kiro/)specs/[^/]+/tasks\.md"),
        _of(r"(?<!\.kiro/)specs/[^/]+/spec\.md"),
        spec_kit.read,
        spec_kit.ticked,
    ),
    Importer(
        "taskmaster",
        ".taskmaster/tasks/tasks.json",
        _of(r"tasks/tasks\.json"),
        None,
        taskmaster.read,
        taskmaster.ticked,
        suffix=".json",
    ),
    Importer(
        "openspec",
        "openspec/changes/<id>/tasks.md",
        _of(rf"{CHANGE}/tasks\.md"),
        _of(rf"{CHANGE}/proposal\.md", rf"{CHANGE}/specs/(?:[^/]+/){{1,6}}spec\.md"),
        openspec.read,
        openspec.ticked,
    ),
    Importer(
        "backlog",
        "backlog/tasks/<id> - <Title>.md",
        _of(r"backlog/(?:tasks|completed)/[^/]+\.md"),
        _of(r"backlog/config\.ya?ml"),
        backlog.read,
        backlog.ticked,
    ),
    Importer(
        "beads",
        ".beads/issues.jsonl",
        _of(r"\.beads/(?:issues|beads)\.jsonl"),
        None,
        beads.read,
        beads.ticked,
        writes=False,
        suffix=".jsonl",
    ),
    Importer(
        "kiro",
        ".kiro/specs/<feature>/tasks.md",
        _of(r"\.kiro/specs/[^/]+/tasks\.md"),
        _of(r"\.kiro/specs/[^/]+/requirements\.md"),
        kiro.read,
        kiro.ticked,
    ),
)
IMPORTERS = {one.name: one for one in FOUND}
"""In the order in which they are offered to people."""


def detected(paths: Collection[str]) -> list[Importer]:
    """The formats whose files are among these."""
    return [one for one in IMPORTERS.values() if any(one.main.search(path) for path in paths)]
