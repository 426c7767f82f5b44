"""Looks through a person's files for secrets, as every write of an agent is."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from damascus.domain.errors import DamascusError, UsageError
from damascus.scanning.lines import new_lines
from damascus.scanning.scan import Hit
from damascus.scanning.scanner import ScanFailed, Scanner

NOT_OURS = {".git", ".venv", "venv", "node_modules", "__pycache__"}


@dataclass(frozen=True)
class ScannedFiles:
    """What was looked through, and what was found where; the secret itself is nowhere."""

    files: list[str]
    hits: list[Hit]


def scan(names: Sequence[str]) -> ScannedFiles:
    """Whole files, and every file below a folder."""
    files = [file for name in names for file in _files(name)]
    added = [lines for file in files for lines in new_lines(file, None, _read(file))]
    scanner = Scanner()
    try:
        return ScannedFiles(files, scanner.scan(added))
    except ScanFailed as err:
        raise DamascusError(f"the files could not be scanned: {err}. Name fewer or smaller ones.") from None
    finally:
        scanner.close()


def _files(name: str) -> list[str]:
    """The file itself, or the files of a folder, in order; links are not followed."""
    if not Path(name).is_dir():
        return [name]
    found: list[str] = []
    for place, below, names in os.walk(name):
        below[:] = sorted(each for each in below if each not in NOT_OURS)
        paths = [Path(place) / each for each in sorted(names)]
        found += [str(path) for path in paths if path.is_file() and not path.is_symlink()]
    return found


def _read(file: str) -> bytes:
    try:
        return Path(file).read_bytes()
    except OSError as err:
        raise UsageError(f"{file} can't be read: {err.strerror or err}. Name files that can be read.") from None
