"""Old and new wording of the tests that a story changed, for a person who has to choose."""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from difflib import unified_diff

from damascus.domain.ports import Candidate, ChangedFile
from damascus.domain.storable import clean

SHOWN_LINES = 60
SHOWN = 6000
COMPARED = 400_000
"""Comparing takes time that grows with the square of what differs: larger texts are shown as gone and come."""


@dataclass(frozen=True)
class SideBySide:
    """`shown` is capped; `mark` stands for the whole of it, so that an answer is bound to what was asked."""

    shown: str
    whole: str
    mark: str


def side_by_side(candidate: Candidate, files: Iterable[ChangedFile], tests: Iterable[str]) -> SideBySide:
    diffs = [_diff(candidate, file) for file in files]
    whole = "\n".join("\n".join(lines) for lines in diffs)
    mark = hashlib.sha256("\0".join([*sorted(tests), whole]).encode("utf-8", errors="surrogateescape")).hexdigest()
    shown = "\n".join("\n".join(_capped(lines)) for lines in diffs)
    return SideBySide(clean(shown, SHOWN), clean(whole, 1_000_000), mark[:16])


def _capped(lines: list[str]) -> list[str]:
    more = len(lines) - SHOWN_LINES
    return lines if more <= 0 else [*lines[:SHOWN_LINES], f"… {more} more lines"]


def _diff(candidate: Candidate, file: ChangedFile) -> list[str]:
    old, new = (candidate.read(commit, file.path) or b"" for commit in (candidate.base, candidate.commit))
    before, after = (data.decode("utf-8", errors="replace").splitlines() for data in (old, new))
    names = f"main/{file.path}", f"story/{file.path}" if file.status != "D" else "gone"
    if len(old) + len(new) > COMPARED or len(before) + len(after) > COMPARED // 40:
        return [f"--- {names[0]}", f"+++ {names[1]}", *(f"-{line}" for line in before), *(f"+{line}" for line in after)]
    return list(unified_diff(before, after, *names, lineterm=""))
