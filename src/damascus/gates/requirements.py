"""Gate requirements: each REQ id of the spec is named by a test that was red and is green.

Names are read from the test's source at the judged commit (its name, markers, docstring), never from what the
process under test says. A skipped, expected-to-fail or empty test names nothing.
"""

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace

from damascus.domain.ports import Candidate, EvidenceRunner, Finding, Gate, GateName, GateResult, TestRun
from damascus.domain.requirement_status import LATER, MappedTest
from damascus.domain.spec import Requirement
from damascus.domain.verdict import Kind, Verdict
from damascus.evidence.diff_paths import is_test, named_paths, test_paths
from damascus.evidence.reading import tests_in
from damascus.gates.asking import AskedAnswers
from damascus.gates.proved_before import proved_before, told_before, with_those_before
from damascus.gates.red_green import turned_green
from damascus.gates.requirement_tests import example_text, mapped_tests, unmapped
from damascus.gates.runs import evidence, job, passed_tests, tells_single_tests
from damascus.git.mirror import Mirror
from damascus.stacks import WrittenFile, WrittenTest, stack_of, written_name

NOT_YET = tuple(str(tag) for tag in LATER)


class Requirements(Gate):
    name = GateName.REQUIREMENTS

    def __init__(self, runner: EvidenceRunner, mirror: Mirror) -> None:
        self._runner = runner
        self._mirror = mirror

    def check(self, candidate: Candidate) -> GateResult:
        if not candidate.spec.requirements:
            return GateResult(gate=self.name, unverified=["requirements: the spec names none"])
        run = self._runner.run(job(candidate, candidate.tree, candidate.spec.test_command, "tests"))
        before = proved_before(self._runner, self._mirror, candidate)
        due = [need for need in _due(candidate) if need.id not in before]
        if candidate.spec.kind is Kind.FEATURE:
            result = _by_single_tests(candidate, run, due) or _by_text(candidate, due)
        else:
            result = _by_green_tests(candidate, run, due)
        if candidate.full and (untested := [need for one in result.findings for need in one.requirements]):
            told = [f"{ident}: no test proves it" for ident in untested]
            result = result.model_copy(update={"findings": [], "unverified": [*result.unverified, *told]})
        later = [f"{need.id}: tagged {need.tag}" for need in candidate.spec.requirements if need.tag in NOT_YET]
        count = len(_due(candidate))
        proof = evidence(self.name, run).model_copy(update={"summary": _summary(count, result)})
        mapped = with_those_before(mapped_tests(candidate, run), before)
        later += _one_for_all(mapped)
        return result.model_copy(
            update={
                "evidence": [proof],
                "unverified": [*result.unverified, *later],
                "tests_of": mapped,
                "unmapped": unmapped(candidate, run, mapped),
                "notes": told_before(candidate, before),
            }
        )


def _one_for_all(mapped: Mapping[str, list[MappedTest]]) -> list[str]:
    """Who names several requirements may prove one of them: said, since nobody can see which."""
    alone: dict[str, list[str]] = {}
    for ident, tests in mapped.items():
        if len(tests) == 1:
            alone.setdefault(tests[0].id, []).append(ident)
    return [f"one test alone proves {', '.join(each)}: {test}" for test, each in alone.items() if len(each) > 1]


def _due(candidate: Candidate) -> list[Requirement]:
    return [need for need in candidate.spec.requirements if need.tag not in NOT_YET]


def proved_by_none_but(tests: Collection[str], candidate: Candidate, run: TestRun) -> list[str]:
    """Requirements that only these tests prove, who turned out to prove nothing."""
    if candidate.red is None:
        return []
    first = _by_single_tests(candidate, run, _due(candidate))
    unproved = {need for finding in first.findings for need in finding.requirements} if first else set()
    left = [case for case in run.cases if case.id not in tests]
    fewer = run.model_copy(update={"cases": left, "passed": run.passed - (len(run.cases) - len(left))})
    red = candidate.red.model_copy(update={"red_tests": [t for t in candidate.red.red_tests if t not in tests]})
    result = _by_single_tests(replace(candidate, red=red), fewer, _due(candidate))
    found = [need for finding in result.findings for need in finding.requirements] if result else []
    return [need for need in found if need not in unproved]


def _summary(due: int, result: GateResult) -> str:
    untested = sum(len(finding.requirements) for finding in result.findings) + len(result.unverified)
    return f"{max(0, due - untested)} of {due} requirements named by a test that proves them"


def _by_single_tests(candidate: Candidate, run: TestRun, due: list[Requirement]) -> GateResult | None:
    """None where the runner does not tell which test passed."""
    red = candidate.red.red_tests if candidate.red else []
    proving = turned_green(red, run) if red else passed_tests(run)
    if not proving and not tells_single_tests(run):
        return None
    texts = list(texts_of(candidate, proving))
    missing = [need.id for need in due if not any(names_requirement(text, need.id) for text in texts)]
    doubtful = [f"{need.id}: red by exit code only" for need in due if not red and need.id not in missing]
    return _result(missing, doubtful)


def _by_green_tests(candidate: Candidate, run: TestRun, due: list[Requirement]) -> GateResult:
    """Without a red run nothing is demanded, and what proves is a test that the story itself wrote: ids are a spec's
    own, so an older test that names REQ-001 may mean another story's."""
    own = set(test_paths(candidate))
    texts = {test: " ".join(texts_of(candidate, [test])) for test in passed_tests(run)}
    told = []
    for need in due:
        named = [test for test, text in texts.items() if names_requirement(text, need.id)]
        if any(written_name(test)[0] in own for test in named):
            continue
        by = f"named by {named[0]}, which this story did not write" if named else "no test names it"
        told.append(f"{need.id}: kind {candidate.spec.kind.value} has no red run, and {by}")
    return _result([], told)


def texts_of(candidate: Candidate, tests: Iterable[str]) -> Iterable[str]:
    """What each of these tests names, by its source; a test without a known file only by its own name."""
    files: dict[str, WrittenFile] = {}
    asking = AskedAnswers(candidate)
    for test in tests:
        path, plain = written_name(test)
        if stack_of(path) is None:
            yield test
            continue
        if path not in files:
            files[path] = tests_in(candidate.read(candidate.commit, path) or b"", path)
        if example := example_text(candidate, path, plain):
            yield f"{example} {test}"
        for written in files[path].tests.values():
            if written.counts and asking.asks(written) and (not plain or written.is_reported_as(plain)):
                yield f"{written.text} {_parameters(test, written)}"


def _parameters(test: str, written: WrittenTest) -> str:
    """What a report adds to the name in the source: pytest's parameters, Go's subtests, a row of a table in Node."""
    path, plain = written_name(test)
    return test.removeprefix(f"{path}::").removeprefix(plain if plain == written.name else "")


def _by_text(candidate: Candidate, due: list[Requirement]) -> GateResult:
    """The last resort: the id stands in a test file, and the command went from red to green by exit code."""
    paths = dict.fromkeys([*test_paths(candidate), *named_paths(candidate.spec.test_command)])
    sources = {path: text for path in paths if (text := _source(candidate, path))}
    where = {
        need.id: next((path for path, text in sources.items() if names_requirement(text, need.id)), None)
        for need in due
    }
    named = [f"{ident}: named in {path}, red to green by exit code only" for ident, path in where.items() if path]
    return _result([ident for ident, path in where.items() if path is None], named)


def _source(candidate: Candidate, path: str) -> str:
    content = candidate.read(candidate.commit, path) if path and not path.startswith(("/", "-")) else None
    if content is None or not (is_test(candidate, path) or path in named_paths(candidate.spec.test_command)):
        return ""
    written = tests_in(content, path).tests.values()
    if written:
        return " ".join(test.text for test in written if test.counts)
    return content.decode("utf-8", errors="replace")


def _result(missing: list[str], unverified: list[str]) -> GateResult:
    return GateResult(
        gate=GateName.REQUIREMENTS, findings=[_finding(missing)] if missing else [], unverified=unverified
    )


def _finding(missing: list[str]) -> Finding:
    message = (
        f"no test proves {', '.join(missing)}: name the id in the name, a marker or the docstring of a test that "
        "fails without the code and passes with it (who is skipped, expected to fail or asserts nothing does not count)"
    )
    return Finding(
        gate=GateName.REQUIREMENTS, verdict=Verdict.REQUIREMENT_UNTESTED, message=message, requirements=missing
    )


def names_requirement(text: str, ident: str) -> bool:
    """`REQ_001` counts as `REQ-001`, upper or lower case; `REQ-0011` does not."""
    return requirement_pattern(ident).search(text) is not None


def requirement_pattern(ident: str) -> re.Pattern[str]:
    word, _, number = ident.partition("-")
    return re.compile(rf"{re.escape(word)}[-_]{re.escape(number)}(?!\d)", re.IGNORECASE)
