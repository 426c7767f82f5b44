"""Gate suite: the project's own suite passes on the candidate; what is red on the base too is charged to nobody.

A story's Test Command says nothing about the rest of the project. So the project's whole test command is run as well,
whatever the spec says, and the base's own run is the measure where it is not green.
"""

from dataclasses import dataclass, replace

from damascus.domain.ids import Sha
from damascus.domain.ports import Candidate, Evidence, EvidenceRunner, Finding, Gate, GateName, GateResult, TestRun
from damascus.domain.verdict import Verdict
from damascus.gates.red_green import CANNOT_RUN, was_red
from damascus.gates.runs import evidence, failed_tests, job, passed_tests, summary, tells_single_tests, uncounted
from damascus.gates.steady import made_unsteady, unsteady
from damascus.gates.tests import why_not_green
from damascus.git.mirror import Mirror
from damascus.stacks.suite import NOTHING, RED_TOO, Suite, suite_of

LISTED = 200
"""Red tests listed by name, at most; how many more there are is told."""


class SuiteGate(Gate):
    name = GateName.SUITE

    def __init__(self, runner: EvidenceRunner, mirror: Mirror) -> None:
        self._runner = runner
        self._mirror = mirror

    def check(self, candidate: Candidate) -> GateResult:
        suite = suite_at(candidate)
        if not suite.command:
            looked = Evidence(gate=self.name, summary="there is none")
            return GateResult(gate=self.name, evidence=[looked], unverified=[NOTHING])
        run = self._runner.run(job(candidate, candidate.tree, suite.command, "suite"))
        base = None if run.green and run.cases else self._on_base(candidate, suite)
        judged = _judged(candidate, run, base)
        result = GateResult(
            gate=self.name,
            findings=[judged.finding] if judged.finding else [],
            evidence=[evidence(self.name, run), *([evidence("suite on the base", base)] if base else [])],
            unverified=[*suite.left_out(), *uncounted(run), *judged.listed],
        )
        return self._once_more(candidate, run, base, result) if judged.finding and base else result

    def _once_more(self, candidate: Candidate, run: TestRun, base: TestRun, result: GateResult) -> GateResult:
        """Luck is told from loss: what is green in a second run of the same tree is flaky and refuses nobody."""
        red = _newly_red(run, base)
        if not red or not tells_single_tests(run):
            return result
        again = self._runner.run(
            replace(job(candidate, candidate.tree, run.command, "suite-again"), fresh=True),
        )
        both = {*passed_tests(run), *passed_tests(again)}
        flaky = [test for test in dict.fromkeys([*red, *_newly_red(again, base)]) if test in both]
        if not flaky:
            return result
        steady = [test for test in red if test not in flaky]
        findings = [replace_tests(finding, steady) for finding in result.findings] if steady else []
        made = [] if steady else made_unsteady(self._runner, self._mirror, candidate, run.command, flaky)
        findings += [unsteady(self.name, made)] if made else []
        flaky = [test for test in flaky if test not in made]
        notes = [f"{test} is flaky: green and red on this one tree" for test in flaky]
        told = {"findings": findings, "flaky": flaky, "notes": [*result.notes, *notes]}
        return result.model_copy(update=told | {"evidence": [*result.evidence, evidence("suite again", again)]})

    def _on_base(self, candidate: Candidate, suite: Suite) -> TestRun:
        tree = self._mirror.tree(Sha(candidate.base))
        return self._runner.run(job(candidate, tree, suite.command, "suite-base"))


def replace_tests(finding: Finding, tests: list[str]) -> Finding:
    return finding.model_copy(update={"tests": tests})


def suite_at(candidate: Candidate) -> Suite:
    """By the base alone: no story names, changes or hides what it is judged by."""
    base = candidate.base
    return suite_of(candidate.config.test, candidate.files(base), lambda path: candidate.read(base, path))


@dataclass(frozen=True)
class SuiteAnswer:
    """What the candidate answers for, or what is listed because the base is red as well."""

    finding: Finding | None = None
    listed: tuple[str, ...] = ()


def _judged(candidate: Candidate, run: TestRun, base: TestRun | None) -> SuiteAnswer:
    reason = _why_not(candidate, run, base)
    if reason is None or base is None:
        return SuiteAnswer()
    new = _newly_red(run, base)
    if not new and _why_not(candidate, base, None) is not None and _no_better(run, base):
        return SuiteAnswer(listed=tuple(_red_on_base(run, base)))
    return SuiteAnswer(
        Finding(
            gate=GateName.SUITE,
            verdict=Verdict.TESTS_FAILED,
            message=f"{reason}; without the story: {summary(base)}" + (f". Newly red: {', '.join(new)}" if new else ""),
            tests=new or failed_tests(run),
            output=run.output,
        )
    )


def _why_not(candidate: Candidate, run: TestRun, base: TestRun | None) -> str | None:
    """As for the Test Command; a base that told its tests one by one makes a run that tells none one that was cut."""
    told = (
        GateResult(gate=GateName.SUITE, green_tests=passed_tests(base), red_tests=failed_tests(base)) if base else None
    )
    reason = why_not_green(replace(candidate, red=told), run, f"the project's suite (`{run.command}`)")
    if reason is None and base is not None and base.counted and not run.counted:
        return f"the project's suite (`{run.command}`) exited 0 but told no count, as it does without the story"
    if reason is not None and base is not None and base.cases and not run.counted and not run.timed_out:
        return reason if "left no report" in reason else f"{reason}; its runner left no report"
    return reason


def _newly_red(run: TestRun, base: TestRun) -> list[str]:
    """What is red here and was not there; nothing is known where the base's run names no test."""
    red = failed_tests(base)
    known = bool(base.cases) or base.green
    return [test for test in failed_tests(run) if known and not was_red(test, red)]


def _no_better(run: TestRun, base: TestRun) -> bool:
    """Is the base's own run as red as this one? Then nobody can tell what the story did."""
    if run.timed_out:
        return base.timed_out
    if run.exit_code in CANNOT_RUN or base.exit_code in CANNOT_RUN:
        return base.exit_code in CANNOT_RUN
    if run.exit_code == 0:
        return base.exit_code == 0
    if base.cases:
        return bool(failed_tests(run)) or (bool(run.cases) and run.exit_code == base.exit_code)
    if base.counted:
        return run.counted and run.failed <= base.failed and (run.passed > 0 or base.passed == 0)
    return True


def _red_on_base(run: TestRun, base: TestRun) -> list[str]:
    """By name."""
    tests = failed_tests(run)
    if not tests or not base.cases:
        why = " (its runner can't be started)" if base.exit_code in CANNOT_RUN else ""
        return [f"suite: `{run.command}` {RED_TOO}{why}: {summary(base)}", *_named(tests, "is red")]
    return _named(tests, RED_TOO)


def _named(tests: list[str], what: str) -> list[str]:
    more = [f"suite: {len(tests) - LISTED} more tests are red"] if len(tests) > LISTED else []
    return [*(f"suite: {test} {what}" for test in tests[:LISTED]), *more]
