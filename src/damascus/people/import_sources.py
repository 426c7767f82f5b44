"""The files of a source are found and read: by no link, within limits, in the format that is named or detected."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from damascus.domain.errors import UsageError
from damascus.tasks.importers import IMPORTERS, Importer, detected
from damascus.telling.phrases import one_line, size

NOTHING = "Nothing was imported."
LARGEST = 8_000_000
LARGEST_ALL = 32_000_000
DEEPEST = 8
MOST_ENTRIES = 50_000
LEFT_OUT = {".git", "node_modules", ".venv", "venv", "__pycache__", "target", "dist", "build", ".tox"}
COMPANIONS = ("spec.md", "requirements.md", "proposal.md", "tasks.md")


@dataclass(frozen=True)
class FoundSource:
    """A format and its files, each under the name by which its stories know it: relative to the repository where it
    lies inside, else absolute."""

    importer: Importer
    files: dict[str, bytes]
    mains: tuple[str, ...]
    """Those that have tasks."""


def find_source(top: Path, name: str, kind: str = "") -> FoundSource:
    if kind and kind not in IMPORTERS:
        raise UsageError(f"There is no format {one_line(kind)!r}. Choose one of: {', '.join(IMPORTERS)}.")
    path, shown = Path(name), one_line(name)
    try:
        whole = path.resolve(strict=True)
        there = {_name(top, each): each for each in (_beside(whole) if whole.is_file() else _below(whole))}
    except (OSError, RuntimeError, ValueError) as err:
        told = getattr(err, "strerror", None) or err
        raise UsageError(f"{shown} can't be read: {told}. Check the name. {NOTHING}") from None
    if not whole.is_dir() and not whole.is_file():
        raise UsageError(f"{shown} is neither a file nor a folder. {NOTHING}")
    alone = _name(top, whole) if whole.is_file() else ""
    importer = IMPORTERS[kind] if kind else _detected(list(there), alone, shown)
    wanted = _wanted(importer, there, alone)
    if not wanted:
        raise UsageError(f"{shown} has no {importer.looks_like}, so there is nothing of {importer.name}. {NOTHING}")
    mains = tuple(each for each in wanted if _is_main(importer, each, alone, wanted))
    return FoundSource(importer, _read({each: there[each] for each in wanted}), mains)


def _detected(names: list[str], alone: str, shown: str) -> Importer:
    found = detected([alone] if alone else names)
    if not found and alone:
        found = [one for one in IMPORTERS.values() if one.suffix != ".md" and alone.endswith(one.suffix)]
    if len(found) == 1:
        return found[0]
    looked = ", ".join(f"{one.name} ({one.looks_like})" for one in IMPORTERS.values())
    if not found:
        raise UsageError(
            f"{shown} is none of the formats that are known: {looked}. Say which: --from FORMAT. {NOTHING}"
        )
    several = " and ".join(one.name for one in found)
    raise UsageError(f"{shown} has {several}. Say which: --from {found[0].name}. {NOTHING}")


def _wanted(importer: Importer, there: dict[str, Path], alone: str) -> list[str]:
    """By their places; where somebody says what a file or folder is, by its name alone."""
    if alone:
        same = importer.suffix == ".md"
        return [n for n in there if n == alone or (same and _companion(importer, n) and not importer.main.search(n))]
    placed = [name for name in there if importer.wants(name)]
    if any(importer.main.search(name) for name in placed):
        return placed
    return [
        name for name in there if name.endswith(importer.suffix) and (importer.suffix != ".md" or _md(importer, name))
    ]


def _md(importer: Importer, name: str) -> bool:
    return importer.name == "backlog" or _companion(importer, name)


def _companion(importer: Importer, name: str) -> bool:
    return name.rpartition("/")[2] in COMPANIONS or bool(importer.beside and importer.beside.search(name))


def _is_main(importer: Importer, name: str, alone: str, wanted: list[str]) -> bool:
    if alone:
        return name == alone
    placed = any(importer.main.search(each) for each in wanted)
    return bool(importer.main.search(name)) if placed else name.endswith(("tasks.md", ".json", ".jsonl"))


def _name(top: Path, path: Path) -> str:
    inside = path.is_relative_to(top.resolve())
    return path.relative_to(top.resolve()).as_posix() if inside else path.as_posix()


def _beside(file: Path) -> Iterator[Path]:
    """A file, and what may belong to it: its folder, and the one above's settings."""
    yield file
    yield from (each for each in _below(file.parent, deepest=4) if each != file and each.suffix == ".md")
    yield from (each for name in ("config.yml", "config.yaml") if (each := file.parent.parent / name).is_file())


def _below(folder: Path, deepest: int = DEEPEST) -> Iterator[Path]:
    """Plain files, in order; no link is followed, so nothing is found twice or outside."""
    waiting, seen = [(folder, 0)], 0
    while waiting:
        here, depth = waiting.pop()
        with os.scandir(here) as listing:
            entries = sorted(listing, key=lambda each: each.name)
        seen += len(entries)
        if seen > MOST_ENTRIES:
            raise UsageError(f"{folder} has more than {MOST_ENTRIES:,} files. Name a folder inside it. {NOTHING}")
        yield from (Path(each.path) for each in entries if each.is_file(follow_symlinks=False))
        folders = [Path(each.path) for each in entries if each.is_dir(follow_symlinks=False)]
        waiting += [(each, depth + 1) for each in reversed(folders) if depth < deepest and each.name not in LEFT_OUT]


def _read(paths: dict[str, Path]) -> dict[str, bytes]:
    found, total = {}, 0
    for name, path in paths.items():
        with path.open("rb") as file:
            raw = file.read(LARGEST + 1)
        total += len(raw)
        if len(raw) > LARGEST or total > LARGEST_ALL:
            most = size(LARGEST if len(raw) > LARGEST else LARGEST_ALL)
            raise UsageError(f"{one_line(name)}: more than {most} to read. Import a smaller part. {NOTHING}")
        found[name] = raw
    return found
