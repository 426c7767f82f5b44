"""Gate red: the new tests fail on the base, before the code exists (D7). What turned green is seen on the head.

The red run is the base's tree with exactly the candidate's test files laid over it, and the tests that it wrote into
sources (Rust's test modules, Python's examples) in the base's version of these. A refactor or a change of
docs has no red run: there the suite must be green on the base already, and the missing proof is listed by name.
"""

from collections.abc import Collection
from dataclasses import replace

from damascus.domain.ports import Candidate, EvidenceRunner, Finding, Gate, GateName, GateResult, TestRun
from damascus.domain.verdict import Kind, Verdict
from damascus.evidence.diff_paths import is_judge, test_paths
from damascus.gates.kept_green import changes_old_tests
from damascus.gates.runs import (
    counts,
    evidence,
    failed_tests,
    job,
    passed_tests,
    tells_single_tests,
    to_the_end,
    uncounted,
)
from damascus.gates.tests_in_sources import story_tests_on_base
from damascus.git.mirror import Mirror
from damascus.stacks.cases import CUT_OFF, WHOLE_TREE
from damascus.stacks.reports import MISMATCH, expects_count

CANNOT_RUN = (126, 127)


class Red(Gate):
    name = GateName.RED
    once_per_story = True

    def __init__(self, runner: EvidenceRunner, mirror: Mirror) -> None:
        self._runner = runner
        self._mirror = mirror

    def check(self, candidate: Candidate) -> GateResult:
        if candidate.spec.kind is not Kind.FEATURE:
            return self._green_base(candidate)
        tests = test_paths(candidate)
        run, reason = self._with_tests(candidate, tests)
        settings = [file.path for file in candidate.changed if file.path in tests and is_judge(candidate, file)]
        beside: list[str] = []
        if reason and run.exit_code == 0 and settings:
            again, still = self._with_tests(candidate, [path for path in tests if path not in settings])
            if still is None:
                run, reason = again, None
                beside = [f"red run: red only without the story's own {', '.join(settings)}, so that is its code"]
        findings = [self._finding(Verdict.NOT_RED, reason, run)] if reason else []
        before = self._on_base(candidate) if not findings and changes_old_tests(candidate) else run
        return GateResult(
            gate=self.name,
            findings=findings,
            evidence=[evidence(self.name, run)],
            unverified=[*beside, *uncounted(run)],
            red_tests=failed_tests(run),
            green_tests=passed_tests(before),
            run=counts(run),
        )

    def _with_tests(self, candidate: Candidate, tests: list[str]) -> tuple[TestRun, str | None]:
        """The base with these of the candidate's files, and why that is not red."""
        tree = self._mirror.overlay(candidate.base, candidate.commit, tests)
        inside = story_tests_on_base(candidate, tests)
        wanted = job(candidate, tree, candidate.spec.test_command, "red")
        run = self._runner.run(replace(wanted, env=to_the_end(wanted.env), files=inside))
        return run, why_not_red(run, [*tests, *(path for path, text in inside.items() if text)])

    def _on_base(self, candidate: Candidate) -> TestRun:
        """The base as it is, with its own tests: what is green there must stay green (kept_green)."""
        tree = self._mirror.tree(candidate.base)
        return self._runner.run(job(candidate, tree, candidate.spec.test_command, "base"))

    def _green_base(self, candidate: Candidate) -> GateResult:
        kind = candidate.spec.kind.value
        run = self._on_base(candidate)
        reason = f"the Test Command is not green on main itself, before this {kind}. A person must repair main first."
        return GateResult(
            gate=self.name,
            findings=[] if run.green else [self._finding(Verdict.TESTS_FAILED, reason, run)],
            evidence=[evidence(self.name, run)],
            unverified=[f"red run (kind {kind})", *uncounted(run)],
            green_tests=passed_tests(run),
            run=counts(run),
        )

    def _finding(self, verdict: Verdict, reason: str, run: TestRun) -> Finding:
        tests = failed_tests(run) if verdict is Verdict.TESTS_FAILED else []
        return Finding(gate=self.name, verdict=verdict, message=reason, tests=tests, output=run.output)


def why_not_red(run: TestRun, tests: list[str]) -> str | None:
    """None if the run is red as it should be, else one sentence for the next attempt."""
    where = "on the base with the new tests"
    if run.timed_out:
        return f"the Test Command did not end in time {where}. Write tests that fail at once without the code."
    if run.exit_code in CANNOT_RUN:
        return f"the Test Command could not be started {where} (exit {run.exit_code}). Write the test that it runs."
    if run.exit_code == 0:
        return _why_it_passes(run, tests)
    if any(case.id == MISMATCH for case in run.cases):
        return f"the test report and the printed summary differ {where}. Leave the runner's report alone."
    if any(case.id == CUT_OFF for case in run.cases):
        return f"no test ran to an end {where} (exit {run.exit_code}). Write a test that fails by an assertion."
    if run.counted and run.failed == 0:
        return f"no test fails {where}: {run.passed} passed, exit {run.exit_code}. Write a test that needs the code."
    if not run.counted and expects_count(run.command):
        return f"no test ran to an end {where} (exit {run.exit_code}). Write a test that fails by an assertion."
    if not run.counted and not tests:
        return "no test was written: the diff holds no test file (tests that lie elsewhere: [test] patterns)."
    return None


def _why_it_passes(run: TestRun, tests: list[str]) -> str:
    if not run.green:
        return "no test ran on the base with the new tests. Write a test that fails without the code."
    if tests:
        return "the new tests pass without the code. Write a test that fails on the base."
    return "no test was added or changed, and all tests pass without the code. Write a test that fails first."


def was_red(test: str, red: Collection[str]) -> bool:
    """A file or folder that could not be collected or built stands for all tests in it."""
    if test in red or WHOLE_TREE in red:
        return True
    return any(test.startswith((f"{place}::", f"{place.rstrip('/')}/")) for place in red if "::" not in place)


def turned_green(red: Collection[str], run: TestRun) -> list[str]:
    """The tests that were red and are green. Where only counts are told: all, if none failed and none was skipped."""
    if tells_single_tests(run):
        return [test for test in passed_tests(run) if was_red(test, red)]
    whole = run.green and run.counted and run.failed == 0 and run.skipped == 0
    return list(red) if whole else []
