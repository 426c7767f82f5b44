"""Which tests belong to which requirement, for the receipt: by marker or docstring, then by name, with their outcome.

Ids are a spec's own. So only tests count that the story wrote or changed, or that its code turned from red to green: an
older test that names REQ-001 may mean another story's.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from damascus.domain.ids import Sha
from damascus.domain.ports import Candidate, Case, TestRun
from damascus.domain.requirement_status import LATER, MappedTest
from damascus.domain.verdict import Kind
from damascus.evidence.reading import tests_in
from damascus.gates.asking import AskedAnswers
from damascus.gates.red_green import was_red
from damascus.gates.runs import tells_single_tests
from damascus.stacks import WrittenFile, WrittenTest, stack_of, written_name
from damascus.stacks.tags import tag_of

IDENT = re.compile(r"REQ[-_](\d{1,9})(?!\d)", re.IGNORECASE)
EXAMPLES_READ = 200_000
"""Bytes of a source that is read here and not in a process of its own."""
ALWAYS_XFAIL = re.compile(r"\bmark\.xfail\b(?!\((?!reason|strict|raises|\)))|\bexpectedFailure\b")
"""Marked as expected to fail whatever the machine is: a condition may say otherwise."""


def mapped_tests(candidate: Candidate, run: TestRun) -> dict[str, list[MappedTest]]:
    """By requirement, in the order of the report."""
    known = {need.id for need in candidate.spec.requirements}
    found: dict[str, list[MappedTest]] = {}
    sources = TestSources(candidate)
    for case in run.cases:
        for ident, test in _of(case, sources, known):
            found.setdefault(ident, []).append(test)
    return found


def unmapped(candidate: Candidate, run: TestRun, mapped: Mapping[str, list[MappedTest]]) -> dict[str, str]:
    """What can't be told of a requirement that is due, and why."""
    due = [need.id for need in candidate.spec.requirements if need.tag not in LATER and not mapped.get(need.id)]
    if not tells_single_tests(run):
        why = f"`{run.command}` does not tell which test passed: red to green by exit code or count only"
    elif candidate.spec.kind is not Kind.FEATURE:
        why = f"kind {candidate.spec.kind.value} has no red run, and no test of the story names it"
    else:
        return {}
    return dict.fromkeys(due, why)


@dataclass
class TestSources:
    """The tests of the candidate's files, each read once, and what of them the story wrote."""

    candidate: Candidate

    @cached_property
    def changed(self) -> set[str]:
        return {file.path for file in self.candidate.changed}

    @cached_property
    def red(self) -> frozenset[str]:
        return frozenset(self.candidate.red.red_tests if self.candidate.red else ())

    @cached_property
    def asking(self) -> AskedAnswers:
        return AskedAnswers(self.candidate)

    @cached_property
    def _files(self) -> dict[tuple[Sha, str], WrittenFile]:
        return {}

    def written(self, commit: Sha, path: str, name: str) -> WrittenTest | None:
        key = (commit, path)
        if key not in self._files:
            self._files[key] = tests_in(self.candidate.read(commit, path) or b"", path)
        found = self._files[key].tests
        return found.get(name) or next((test for test in found.values() if test.is_reported_as(name)), None)

    def is_own(self, test: str, path: str, now: WrittenTest | None) -> bool:
        """Red by its own name, or not in the base as it stands here. A file that could not be loaded there says nothing
        of a test that was in it before."""
        if test in self.red:
            return True
        before = self.written(self.candidate.base, path, now.name) if now else None
        if before is not None and now is not None and (before.body, before.text) == (now.body, now.text):
            return False
        return path in self.changed or was_red(test, self.red)


def _of(case: Case, sources: TestSources, known: set[str]) -> Iterator[tuple[str, MappedTest]]:
    path, name = written_name(case.written or case.id)
    read = stack_of(path) is not None
    test = sources.written(sources.candidate.commit, path, name) if read else None
    example = example_text(sources.candidate, path, name) if read and test is None else ""
    if read and test is None and not example:
        return  # no such test stands in the source
    text = test.text if test else f"{case.id} {example}"
    marks = test.text.replace(test.name, " ", 1) if test else example
    names = idents(f"{name} {case.id}") & known
    marked = idents(marks) & known
    if not (names | marked) or not sources.is_own(case.id, path, test):
        return
    red = bool(sources.red) and was_red(case.id, sources.red)
    for ident in sorted(names | marked):
        yield (
            ident,
            MappedTest(
                id=case.id,
                outcome="xpassed" if case.status == "passed" and ALWAYS_XFAIL.search(text) else case.status,
                by="marker" if ident in marked else "name",
                tag=tag_of(text),
                negative=test is not None and test.negative,
                red=red,
                proves=(test is None or (test.counts and sources.asking.asks(test))) and (red or not sources.red),
            ),
        )


def example_text(candidate: Candidate, path: str, name: str) -> str:
    """What stands around an example in the code itself, where the runner reports it by this name."""
    stack = stack_of(path)
    content = candidate.read(candidate.commit, path) if stack and stack.inner_tests and "." in name else None
    if stack is None or stack.inner_tests is None or content is None or len(content) > EXAMPLES_READ:
        return ""
    return stack.inner_tests().says(content.decode("utf-8", errors="replace"), name)


def idents(text: str) -> set[str]:
    return {f"REQ-{number}" for number in IDENT.findall(text)}
