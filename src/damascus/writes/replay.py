"""The pipeline once more over a log: would today's rules say the same of every write (A14)?

A refused write's content is not kept, as it may be a secret, and a person's word can't be replayed: these say so.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from damascus.scanning.scanner import ScanFailed, Scanner
from damascus.stacks import parsed_here
from damascus.writes import log
from damascus.writes.bounds import Bounds
from damascus.writes.checks import Checks
from damascus.writes.log import WriteEntry
from damascus.writes.proposal import Proposal
from damascus.writes.refusal import RefusedWrite

ALLOWED, REFUSED = "allowed", "refused"
BY_PATH = ("scope", "role")


@dataclass(frozen=True)
class Replayed:
    """One entry: what was said then, what is said now, or why that can't be told."""

    number: int
    entry: WriteEntry
    then: str
    now: str
    note: str = ""

    @property
    def differs(self) -> bool:
        return bool(self.now) and self.now != self.then


def replay(folders: list[Path], bounds: Bounds, scanner: Scanner, first: int = 1) -> Iterator[Replayed]:
    """Entries of several runs, numbered through from 1, from number `first` on. `bounds` is the story's of today; the
    role is each entry's own."""
    every = [(folder, entry) for folder in folders for entry in log.read(folder)]
    for number, (folder, entry) in enumerate(every, 1):
        if number >= first:
            yield _replayed(number, folder, entry, Checks(_bounds_of(bounds, entry), scanner))


def _bounds_of(bounds: Bounds, entry: WriteEntry) -> Bounds:
    accepted = frozenset({entry.path}) if entry.accepted else frozenset()
    return Bounds(bounds.scope, entry.origin.role, accepted, bounds.protected, bounds.test_patterns)


def _replayed(number: int, folder: Path, entry: WriteEntry, checks: Checks) -> Replayed:
    then = _then(entry)
    if entry.verdict == "refused" and entry.check not in BY_PATH:
        return Replayed(number, entry, then, "", f"refused by {entry.check}; its content is not kept")
    after = log.content_of(folder, entry.after)
    if after is None and entry.after is not None and entry.verdict != "refused":
        return Replayed(number, entry, then, "", "its content is not kept")
    try:
        return Replayed(number, entry, then, _now(entry, checks, log.content_of(folder, entry.before), after))
    except ScanFailed as err:
        return Replayed(number, entry, then, "", str(err))


def _then(entry: WriteEntry) -> str:
    if entry.verdict == "refused" or entry.check:
        return f"{REFUSED}: {entry.check}"
    failed = entry.compile is not None and entry.compile.tool == "py_compile" and entry.compile.ok is False
    return "allowed, does not compile" if failed else ALLOWED


def _now(entry: WriteEntry, checks: Checks, before: bytes | None, after: bytes | None) -> str:
    try:
        if not entry.artifact:
            checks.bounds.check(entry.path)
        if after is not None:
            checks.no_secret(Proposal(entry.path, before, after))
    except RefusedWrite as refused:
        return f"{REFUSED}: {refused.check}"
    was_compiled = entry.compile is not None and entry.compile.ok is not None and parsed_here(entry.path)
    if was_compiled and after is not None:
        error = checks.scanner.compile_error(entry.path, after.decode("utf-8", errors="replace"))
        return "allowed, does not compile" if error else ALLOWED
    return ALLOWED
