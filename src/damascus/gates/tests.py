"""Gate tests: the Test Command is green on the candidate, by exit code and count: what was red (D7), what was green."""

from damascus.domain.ports import Candidate, EvidenceRunner, Finding, Gate, GateName, GateResult, TestRun
from damascus.domain.verdict import Kind, Verdict
from damascus.evidence.diff_paths import code_paths
from damascus.gates.kept_green import lost
from damascus.gates.red_green import turned_green
from damascus.gates.runs import counts, evidence, failed_tests, job, passed_tests, tells_single_tests, uncounted
from damascus.gates.unreported import not_run, silent_runner, unread
from damascus.stacks.cases import CUT_OFF
from damascus.stacks.printed import plain
from damascus.stacks.python.printed import pytest_summary
from damascus.stacks.reports import expects_count


class Tests(Gate):
    name = GateName.TESTS
    opens_beside = True
    __test__ = False

    def __init__(self, runner: EvidenceRunner) -> None:
        self._runner = runner

    def check(self, candidate: Candidate) -> GateResult:
        run = self._runner.run(job(candidate, candidate.tree, candidate.spec.test_command, "tests"))
        missing, explained = not_run(candidate, run)
        finding = (
            self._failure(candidate, run)
            or self._other_code(candidate, run)
            or lost(candidate, run)
            or self._not_run(missing, run)
            or self._unproved(candidate, run)
        )
        return GateResult(
            gate=self.name,
            findings=[finding] if finding else [],
            evidence=[evidence(self.name, run)],
            unverified=[*uncounted(run), *explained, *_restored(candidate, run)],
            green_tests=passed_tests(run),
            run=counts(run),
        )

    def _failure(self, candidate: Candidate, run: TestRun) -> Finding | None:
        reason = why_not_green(candidate, run)
        if reason is None:
            return None
        return Finding(
            gate=self.name,
            verdict=Verdict.TESTS_FAILED,
            message=reason,
            tests=failed_tests(run),
            output=run.output,
        )

    def _other_code(self, candidate: Candidate, run: TestRun) -> Finding | None:
        """Code of the story's that the command changed before or while it tested it."""
        paths = [path for path in run.rewritten if path in code_paths(candidate)]
        if not paths:
            return None
        message = (
            f"`{run.command}` itself changes {', '.join(paths)}: what is tested is not what lands. "
            "Leave the sources alone while tests are built and run."
        )
        return Finding(gate=self.name, verdict=Verdict.CODE_UNPROVED, message=message, paths=paths)

    def _not_run(self, missing: list[str], run: TestRun) -> Finding | None:
        if not missing:
            return None
        message = (
            f"not run: {', '.join(missing[:20])}. The runner reported nothing of them: their file is left out by its "
            "name or a condition, or their process ended before them. Every test of the story must be run and reported."
        )
        return Finding(gate=self.name, verdict=Verdict.TESTS_FAILED, message=message, tests=missing, output=run.output)

    def _unproved(self, candidate: Candidate, run: TestRun) -> Finding | None:
        """A feature needs a test that was red and is green."""
        if candidate.spec.kind is not Kind.FEATURE:
            return None
        if candidate.red is None:
            return self._not_red("the red run is missing: nothing shows that the tests fail without the code")
        red = candidate.red.red_tests
        if red and tells_single_tests(run) and not turned_green(red, run):
            return self._not_red("no test that failed without the code passes with it: skipped, renamed or gone")
        return None

    def _not_red(self, message: str) -> Finding:
        return Finding(gate=self.name, verdict=Verdict.NOT_RED, message=message)


def _restored(candidate: Candidate, run: TestRun) -> list[str]:
    paths = [path for path in run.restored if path in code_paths(candidate)]
    return [f"tests: `{run.command}` wrote {path} while it ran; it is as before" for path in paths]


def why_not_green(candidate: Candidate, run: TestRun, what: str = "the Test Command") -> str | None:
    if run.timed_out:
        return f"{what} did not end within {candidate.config.test.timeout_seconds:g} s"
    if run.exit_code == 0 and _left_no_report(candidate, run):
        return f"{what} exited 0 but its runner left no report: it was ended before its end"
    if run.exit_code == 0 and (silence := silent_runner(candidate, run)):
        return silence
    if unreadable := unread(candidate):
        return (
            f"{', '.join(unreadable)} can't be read for its tests: too large, or it took too long. Write smaller files."
        )
    if run.counted and run.passed == 0 and run.failed == 0:
        return f"no test ran ({run.skipped} skipped, exit {run.exit_code})"
    if not run.green:
        count = f"{run.failed} failed, {run.passed} passed" if run.counted else "not counted"
        return f"{what} failed: exit {run.exit_code}, tests {count}"
    return None


def _left_no_report(candidate: Candidate, run: TestRun) -> bool:
    """A runner that tells counts and tells none now, or prints a count without the report that it wrote before."""
    red = candidate.red
    told_before = red is not None and bool(red.red_tests or red.green_tests)
    if any(case.id == CUT_OFF for case in run.cases):
        return True
    if not run.counted:
        return told_before or expects_count(run.command)
    return told_before and not run.cases and pytest_summary(plain(run.output)) is not None
