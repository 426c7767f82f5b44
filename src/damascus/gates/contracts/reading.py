"""Contracts are read in a process of their own, under a limit of processor time and memory (scanning/scan.py).

It is not the one that reads tests: a large description would keep every other story of the worker waiting.
"""

import base64
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from damascus.domain.errors import TransientError
from damascus.domain.ids import Sha
from damascus.domain.ports import Candidate
from damascus.scanning.scanner import ScanFailed, Scanner, TooMuchToRead

MOST_FILES = 200
MOST_BYTES = 10_000_000
WALL_SECONDS = 300.0
"""Far more than its processor time on a machine that is busy."""
TOO_MUCH = "takes more processor time or memory than a contract may"
_lock = threading.Lock()
_readers: list[Scanner] = []


@dataclass(frozen=True)
class ContractFiles:
    """A contract with every file that it refers to. `problem`: why it can't be read, as the end of a sentence."""

    path: str
    files: Mapping[str, bytes] = field(default_factory=dict)
    problem: str = ""

    def packed(self) -> dict[str, str]:
        return {path: base64.b64encode(data).decode() for path, data in self.files.items()}


def ask(name: str, **given: Any) -> dict[str, Any]:
    """One of the readers of damascus.contracts.wire. What is too much for it raises TooMuchToRead."""
    try:
        found: dict[str, Any] = _reader().call(name, **given)
        return found
    except TooMuchToRead:
        raise
    except ScanFailed as err:
        raise TransientError(f"a contract could not be read: {err}") from err


def contract_files(
    candidate: Candidate, commit: Sha, path: str, listed_by: str = "contract_files"
) -> ContractFiles | None:
    """As they are at a commit; None where it has no such contract. `listed_by`: who tells what it refers to."""
    root = candidate.read(commit, path)
    if root is None:
        return None
    found, rest = {path: root}, [path]
    while rest:
        told = _files_named(listed_by, rest[0], found[rest.pop(0)])
        if "problem" in told:
            return ContractFiles(path, found, told["problem"])
        for name in told["files"]:
            data = candidate.read(commit, name) if name not in found else None
            if data is not None:
                found[name] = data
                rest.append(name)
        if len(found) > MOST_FILES or sum(map(len, found.values())) > MOST_BYTES:
            return ContractFiles(path, found, f"refers to more than {MOST_FILES} files or {MOST_BYTES:,} bytes")
    return ContractFiles(path, found)


def _files_named(listed_by: str, path: str, data: bytes) -> dict[str, Any]:
    try:
        return ask(listed_by, path=path, source=base64.b64encode(data).decode())
    except TooMuchToRead:
        return {"problem": TOO_MUCH}


def _reader() -> Scanner:
    """One for the whole process, started with the first question."""
    with _lock:
        if not _readers:
            _readers.append(Scanner(WALL_SECONDS, reader=True))
        return _readers[0]
