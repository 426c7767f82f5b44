"""Gate weakened_tests: nothing that judged before judges less now.

Tests of the base are compared with the candidate's by their source: gone, skipped, expected to fail, or without
an assertion. Files that decide how tests are found and judged may change only where the scope names them.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from damascus.domain.ports import Candidate, ChangedFile, Evidence, Finding, Gate, GateName, GateResult
from damascus.domain.requirement_status import MAY_XFAIL
from damascus.domain.verdict import Verdict
from damascus.evidence.diff_paths import is_judge, is_test
from damascus.evidence.gate_programs import brought_judges
from damascus.evidence.reading import tests_in
from damascus.gates.permitted import permits
from damascus.stacks import WrittenFile, WrittenTest, stack_of
from damascus.stacks.tags import EXPECTED, tag_of

REPAIR = "Bring back what judged before; only the spec (may_remove, or the file's very path in its scope) permits it."


@dataclass(frozen=True)
class Weakness:
    what: str
    path: str
    test: str = ""

    def __str__(self) -> str:
        return f"{self.what} {self.path}{'::' + self.test if self.test else ''}"


@dataclass(frozen=True)
class Moved:
    """The tests of the candidate's changed files, each with its path: a lost one may be found there."""

    tests: tuple[tuple[str, WrittenTest], ...]
    contents: frozenset[bytes]

    def holds(self, path: str, test: WrittenTest) -> bool:
        """Under its name or with its body, no weaker than it was, in a file that is collected by its name too."""
        return any(
            same(test, other) and not _how_weaker(test, other) and _collected(path, place)
            for place, other in self.tests
        )


def same(test: WrittenTest, other: WrittenTest) -> bool:
    return test.name == other.name or (test.can_fail and test.body == other.body)


def _how_weaker(test: WrittenTest, now: WrittenTest) -> str | None:
    if now.skips > test.skips:
        return "skipped"
    if (test.asserts and not now.asserts) or (test.can_fail and not now.can_fail):
        return "emptied"
    return None


def _collected(old: str, new: str) -> bool:
    """Runners find files by their names: what moves from `test_a.py` to `a.py` runs no more."""
    stack = stack_of(old)
    return stack is None or not stack.tests.fullmatch(old) or stack.tests.fullmatch(new) is not None


class WeakenedTests(Gate):
    name = GateName.WEAKENED_TESTS

    def check(self, candidate: Candidate) -> GateResult:
        found = [*_judges(candidate), *_tests(candidate)]
        summary = f"{len(found)} weakened" if found else "no test or judging file weakened"
        evidence = Evidence(gate=self.name, tree=candidate.tree, summary=summary)
        return GateResult(gate=self.name, findings=[_finding(found)] if found else [], evidence=[evidence])


def _finding(found: list[Weakness]) -> Finding:
    return Finding(
        gate=GateName.WEAKENED_TESTS,
        verdict=Verdict.TESTS_WEAKENED,
        message=f"weakened what judges the work: {'; '.join(map(str, found))}. {REPAIR}",
        paths=list(dict.fromkeys(weakness.path for weakness in found)),
        tests=[f"{weakness.path}::{weakness.test}" for weakness in found if weakness.test],
    )


def _judges(candidate: Candidate) -> Iterator[Weakness]:
    words = {"A": "added", "D": "deleted"}
    brought = brought_judges(candidate)
    for file in candidate.changed:
        if (file.path in brought or is_judge(candidate, file)) and not candidate.scope.names(file.path):
            yield Weakness(words.get(file.status, "changed"), file.path)


def _tests(candidate: Candidate) -> Iterator[Weakness]:
    new = _contents(candidate)
    moved = Moved(tuple(tests_of(candidate)), frozenset(new.values()))
    for file in candidate.changed:
        if not is_test(candidate, file.path):
            continue
        old = candidate.read(candidate.base, file.path) if file.status != "A" else None
        for weakness in _weakened(file, old, new.get(file.path), moved):
            if not may_go(candidate, weakness) and not (candidate.full and _left_for_later(weakness, moved)):
                yield weakness


def _left_for_later(weakness: Weakness, moved: Moved) -> bool:
    """Where critics look too, a test may be expected to fail if it says itself that it is an extension or for later."""
    now = next((test for path, test in moved.tests if (path, test.name) == (weakness.path, weakness.test)), None)
    if weakness.what != "skipped" or now is None:
        return False
    return tag_of(now.text) in MAY_XFAIL and EXPECTED.search(now.text) is not None


def _contents(candidate: Candidate) -> dict[str, bytes]:
    paths = [file.path for file in candidate.changed if file.status != "D" and is_test(candidate, file.path)]
    found = {path: candidate.read(candidate.commit, path) for path in paths}
    return {path: content for path, content in found.items() if content is not None}


def tests_of(candidate: Candidate) -> Iterator[tuple[str, WrittenTest]]:
    """The tests in the candidate's changed test files, each with its path."""
    for path, content in _contents(candidate).items():
        yield from ((path, test) for test in tests_in(content, path).tests.values())


def _weakened(file: ChangedFile, old: bytes | None, new: bytes | None, moved: Moved) -> Iterator[Weakness]:
    if old is not None and stack_of(file.path) is None:
        yield from _unknown_language(file.path, old, new, moved)
        return
    before = tests_in(old or b"", file.path)
    after = tests_in(new or b"", file.path)
    # A helper that is new may skip too, by being imported; a new test that is skipped takes nothing away.
    if after.skips > before.skips and (old is not None or not after.tests):
        yield Weakness("skipped", file.path)
    yield from _compared(file.path, before, after, moved)


def _unknown_language(path: str, old: bytes, new: bytes | None, moved: Moved) -> Iterator[Weakness]:
    if new is None and old not in moved.contents:
        yield Weakness("deleted", path)
    elif new is not None and _has_content(old) and not _has_content(new):
        yield Weakness("emptied", path)


def _has_content(data: bytes) -> bool:
    return any(line.strip() and not line.lstrip().startswith((b"#", b"//")) for line in data.splitlines())


def _compared(path: str, before: WrittenFile, after: WrittenFile, moved: Moved) -> Iterator[Weakness]:
    for name, test in before.tests.items():
        now = after.tests.get(name)
        what = _how_weaker(test, now) if now else None
        if now is None and not moved.holds(path, test):
            yield Weakness("deleted", path, name)
        elif what:
            yield Weakness(what, path, name)


def may_go(candidate: Candidate, weakness: Weakness) -> bool:
    """`may_remove` names a file, a folder, a glob, or one test as path::name."""
    whole = f"{weakness.path}::{weakness.test}" if weakness.test else weakness.path
    return permits(candidate.spec.may_remove, whole)
