"""What a candidate is asked for: the statements that it changed, and those of the whole project."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from damascus.domain.ids import Sha
from damascus.domain.ports import Candidate, ChangedFile
from damascus.evidence.diff_paths import code_paths, is_judge, is_test
from damascus.gates.mutation.changed import functions_of
from damascus.git.added_lines import FORM, added_lines
from damascus.git.mirror import Mirror
from damascus.stacks import stack_of
from damascus.stacks.coverage import LinesRun, Statement, measured, ranges, statements_in
from damascus.stacks.mutants import functions_in, reads
from damascus.stacks.others import OTHER_CODE


@dataclass
class Lines:
    """Statements by path; `unread` is what can't be counted, each with its reason."""

    files: dict[str, list[Statement]] = field(default_factory=dict)
    unread: list[str] = field(default_factory=list)

    @property
    def count(self) -> int:
        return sum(map(len, self.files.values()))

    def of_stacks_in(self, seen: LinesRun) -> "Lines":
        """Without those of stacks of which nothing could be told."""
        kept = {path: of for path, of in self.files.items() if _stack(path) not in seen.why_not}
        return Lines(kept, self.unread)

    def covered(self, seen: LinesRun) -> int:
        return sum(seen.ran(path, one) for path, every in self.files.items() for one in every)

    def not_run(self, seen: LinesRun) -> dict[str, list[Statement]]:
        left = {path: [one for one in of if not seen.ran(path, one)] for path, of in self.files.items()}
        return {path: of for path, of in left.items() if of}

    def percent(self, seen: LinesRun) -> float:
        return 100 * self.covered(seen) / self.count if self.count else 100.0


def _stack(path: str) -> str:
    stack = stack_of(path)
    return stack.name if stack else ""


def told(files: dict[str, list[Statement]]) -> list[str]:
    """`src/a.py:3-5, 9`, file by file."""
    return [f"{path}:{ranges(line for one in of for line in one.lines)}" for path, of in sorted(files.items())]


def changed_lines(candidate: Candidate, mirror: Mirror) -> Lines:
    """Statements with a line that the base has not; tests, what judges, and functions that only moved are left out."""
    found = Lines()
    added = added_lines(mirror.difference(candidate.base, candidate.commit, *FORM))
    known = {one.body for one in functions_of(candidate, candidate.base)}
    for path in code_paths(candidate):
        lines = added.get(path, set())
        source = candidate.read(candidate.commit, path)
        if source is None or not lines:
            continue
        if not measured(path):
            if stack_of(path) is not None or OTHER_CODE.fullmatch(path):
                found.unread.append(f"{path} (lines of this language can't be measured)")
            continue
        try:
            moved = _moved(source, path, known)
            every = [one for one in statements_in(source, path) if not lines.isdisjoint(one.lines)]
        except ValueError as err:
            found.unread.append(f"{path} ({err})")
            continue
        if kept := [one for one in every if one.line not in moved]:
            found.files[path] = kept
    return found


def _moved(source: bytes, path: str, known: set[str]) -> set[int]:
    if not reads(path):
        return set()
    return {
        line
        for one in functions_in(source, path)
        if one.body in known
        for line in range(one.first_line, one.last_line + 1)
    }


def project_lines(candidate: Candidate, commit: Sha, stacks: Iterable[str]) -> Lines:
    """Of every file of code in these stacks."""
    found, wanted = Lines(), set(stacks)
    for path in sorted(candidate.files(commit)):
        if (
            _stack(path) not in wanted
            or is_test(candidate, path)
            or is_judge(candidate, ChangedFile(path=path, status="M"))
        ):
            continue
        try:
            every = statements_in(candidate.read(commit, path) or b"", path)
        except ValueError as err:
            found.unread.append(f"{path} ({err})")
            continue
        if every:
            found.files[path] = every
    return found
