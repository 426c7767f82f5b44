"""What a story that is built anew had proved when it landed: no test of that can be red on main, which has its code.

A requirement whose text is unchanged since is proved by the tests that named it at the landed commit, as long as main
and the candidate have them word for word alike and they are green on the candidate: as the story's files are, and once
more with every test, helper and setting as main has it. What no such test names is proved by red to green, or not at
all.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from damascus.domain.ids import short
from damascus.domain.ports import Candidate, Case, EvidenceRunner, LandedBefore, TestRun
from damascus.domain.requirement_status import LATER, MappedTest
from damascus.gates.code_with_base_tests import with_base_tests
from damascus.gates.requirement_tests import TestSources, idents
from damascus.gates.runs import job, passed_tests, tells_single_tests
from damascus.git.mirror import Mirror
from damascus.stacks import WrittenTest, stack_of, written_name
from damascus.stacks.tags import tag_of

Tests = dict[str, list[MappedTest]]
"""By requirement."""


def proved_before(runner: EvidenceRunner, mirror: Mirror, candidate: Candidate) -> Tests:
    landed = candidate.landed
    needs = _unchanged(candidate, landed) if landed else set()
    if landed is None or not needs or not _is_below(mirror, landed, candidate):
        return {}
    green = _green_both_ways(runner, mirror, candidate, landed.spec.test_command)
    sources, found = TestSources(candidate), Tests()
    for case in green:
        for ident, test in _of(case, sources, landed, needs):
            found.setdefault(ident, []).append(test)
    return found


def with_those_before(mapped: Mapping[str, list[MappedTest]], before: Tests) -> Tests:
    """A test that proves by the change itself is not told twice."""
    every = dict.fromkeys([*mapped, *before])
    return {ident: _joined(mapped.get(ident, []), before.get(ident, [])) for ident in every}


def told_before(candidate: Candidate, before: Tests) -> list[str]:
    if candidate.landed is None:
        return []
    when = f"proved when {candidate.spec.story} first landed ({short(candidate.landed.commit)}), its tests still green"
    return [f"{ident}: {when}" for ident in sorted(before)]


def _is_below(mirror: Mirror, landed: LandedBefore, candidate: Candidate) -> bool:
    here = mirror.objects.find([landed.commit])[0] is not None
    return here and mirror.is_ancestor(landed.commit, candidate.base)


def _joined(now: list[MappedTest], before: list[MappedTest]) -> list[MappedTest]:
    known = {test.id for test in now}
    return [*now, *(test for test in before if test.id not in known)]


def _unchanged(candidate: Candidate, landed: LandedBefore) -> set[str]:
    """To the letter, its tag too."""
    was = {(need.id, need.text, need.tag) for need in landed.spec.requirements if need.tag not in LATER}
    return {need.id for need in candidate.spec.requirements if (need.id, need.text, need.tag) in was}


def _green_both_ways(runner: EvidenceRunner, mirror: Mirror, candidate: Candidate, command: str) -> list[Case]:
    """By the Test Command of then: that of now may name files which main does not have. A source whose tests could not
    be put back proves nothing."""
    old = with_base_tests(candidate, mirror)
    if not command or old.told:
        return []
    now = runner.run(job(candidate, candidate.tree, command, "proved-before"))
    if not _tells(now):
        return []
    then = runner.run(replace(job(candidate, old.tree, command, "proved-before-old-tests"), files=old.files))
    held = set(passed_tests(then)) if _tells(then) else set()
    return [case for case in now.cases if case.status == "passed" and case.id in held]


def _tells(run: TestRun) -> bool:
    return run.green and tells_single_tests(run)


def _of(case: Case, sources: TestSources, landed: LandedBefore, needs: set[str]) -> Iterator[tuple[str, MappedTest]]:
    path, name = written_name(case.written or case.id)
    candidate = sources.candidate
    if stack_of(path) is None:
        return
    then, base, now = (sources.written(one, path, name) for one in (landed.commit, candidate.base, candidate.commit))
    if then is None or base is None or now is None or _words(base) != _words(now):
        return
    if not now.counts or not sources.asking.asks(now):
        return
    marks = now.text.replace(now.name, " ", 1)
    for ident in sorted(idents(f"{name} {then.text}") & idents(f"{name} {now.text}") & needs):
        yield (
            ident,
            MappedTest(
                id=case.id,
                outcome="passed",
                by="marker" if ident in idents(marks) else "name",
                tag=tag_of(now.text),
                negative=now.negative,
                before=landed.commit,
            ),
        )


def _words(test: WrittenTest) -> tuple[object, object]:
    return test.body, test.text
