"""Gate coverage: the story's tests run the lines that it changed, and the project's no smaller part of it than before.

What ran is told from inside the judged process: it may refuse, and proves nothing. Where nothing is told, the base is
asked: what can be measured there and not here is the story's doing; what can't be measured there either is listed.
Rules and what can't be measured: docs/coverage.md.
"""

from dataclasses import dataclass
from math import floor

from damascus.domain.config import CoverageConfig
from damascus.domain.ports import Candidate, Evidence, EvidenceRunner, Finding, Gate, GateName, GateResult
from damascus.domain.verdict import Kind, Verdict
from damascus.gates.coverage_lines import Lines, changed_lines, project_lines, told
from damascus.gates.coverage_run import LineLook, Looks
from damascus.gates.coverage_told import lines_by_requirement, write_lcov
from damascus.gates.runs import job
from damascus.gates.suite import suite_at
from damascus.git.mirror import Mirror
from damascus.stacks.coverage import Statement

SHOWN = 40
"""Files with lines that no test runs, in one message."""
REPAIR = "Write tests that run them."


class Coverage(Gate):
    name = GateName.COVERAGE

    def __init__(self, runner: EvidenceRunner, mirror: Mirror, looks: Looks | None = None) -> None:
        self._runner = runner
        self._mirror = mirror
        self._looks = looks or Looks(runner)

    def check(self, candidate: Candidate) -> GateResult:
        if not candidate.config.gates.coverage.asked:
            return GateResult(gate=self.name, unverified=["coverage: off"])
        if candidate.spec.kind is not Kind.FEATURE:
            return _nothing(candidate, f"a {candidate.spec.kind.value} story is not asked for lines of its own")
        changed = changed_lines(candidate, self._mirror)
        if not changed.count and not changed.unread:
            return _nothing(candidate, "no line that runs was changed")
        measure = Measurement(candidate, changed, GateResult(gate=self.name))
        for path in changed.unread:
            measure.unmeasured(path)
        if changed.count and not measure.result.findings:
            self._of_the_story(measure)
            if not measure.result.findings and not candidate.given_up():
                self._of_the_project(measure)
        return measure.result

    # ── the changed lines, by the story's own command ─────────────────────────────────────────────────

    def _of_the_story(self, measure: "Measurement") -> None:
        candidate, command = measure.candidate, measure.candidate.spec.test_command
        look = self._looks.at(candidate, candidate.tree, command, "coverage", measure.changed.files)
        asked = measure.changed.of_stacks_in(look.lines)
        measure.tell(look, asked)
        for stack, why in look.lines.why_not.items():
            if command and self._seen_on_base(measure, command, stack):
                measure.refuse(f"{stack}: {why}, and without the story it does. Leave what looks at a run alone.")
            else:
                measure.unmeasured(f"{stack}: {why}")
        if not asked.count or asked.percent(look.lines) >= measure.wanted.changed:
            return
        if self._as_usual(measure, look) or self._works_on_base(measure):
            measure.refuse(_too_few(asked, look, measure.wanted.changed), asked.not_run(look.lines), look.run.output)
        else:
            measure.unmeasured(f"`{command}` does not run as usual while it is looked at, nor do the project's tests")

    def _as_usual(self, measure: "Measurement", look: LineLook) -> bool:
        """It ended as it does when nobody looks, and nobody stands in the way."""
        candidate = measure.candidate
        plain = self._runner.run(job(candidate, candidate.tree, candidate.spec.test_command, "tests"))
        ended = (look.run.exit_code, look.run.timed_out) == (plain.exit_code, plain.timed_out)
        return ended and not look.lines.blind

    def _seen_on_base(self, measure: "Measurement", command: str, stack: str) -> bool:
        return stack not in self._on_base(measure, command, "coverage-base").lines.why_not

    def _works_on_base(self, measure: "Measurement") -> bool:
        command = suite_at(measure.candidate).command or measure.candidate.spec.test_command
        look = self._on_base(measure, command, "coverage-base-suite")
        return look.run.exit_code == 0 and not look.lines.blind and not look.lines.why_not

    def _on_base(self, measure: "Measurement", command: str, label: str) -> LineLook:
        base = self._mirror.tree(measure.candidate.base)
        return self._looks.at(measure.candidate, base, command, label, measure.changed.files)

    # ── the whole project, by its own command ─────────────────────────────────────────────────────────

    def _of_the_project(self, measure: "Measurement") -> None:
        candidate, wanted = measure.candidate, measure.wanted.project
        suite = suite_at(candidate).command
        if not wanted:
            return
        if not suite:
            measure.no_suite()
            return
        look = self._looks.at(candidate, candidate.tree, suite, "coverage-suite", measure.changed.files)
        whole = project_lines(candidate, candidate.commit, look.lines.stacks).of_stacks_in(look.lines)
        if not whole.count:
            return
        measure.tell_project(look, whole)
        if whole.percent(look.lines) < wanted:
            self._compare(measure, suite, look, whole)

    def _compare(self, measure: "Measurement", suite: str, look: LineLook, whole: Lines) -> None:
        """Below the line that is drawn, a story may not add to what no test runs."""
        before = self._on_base(measure, suite, "coverage-base-suite")
        then = project_lines(measure.candidate, measure.candidate.base, look.lines.stacks).of_stacks_in(before.lines)
        if before.run.exit_code != look.run.exit_code:
            measure.unmeasured(f"`{suite}` ends otherwise without the story, so the project's part can't be compared")
            return
        was, now = then.percent(before.lines) if then.count else 0.0, whole.percent(look.lines)
        own = measure.changed.of_stacks_in(look.lines).not_run(look.lines)
        shares = f"{share(now)} of the project's lines, {share(measure.wanted.project)} are asked for"
        if own and now < was:
            message = f"the project's tests run {shares}; without the story it is {share(was)}. "
            measure.refuse(message + _unrun(own), own)
        else:
            measure.result.notes.append(f"coverage: the project's tests run {shares}; before the story {share(was)}")


@dataclass
class Measurement:
    """What is asked of one candidate, and what was found."""

    candidate: Candidate
    changed: Lines
    result: GateResult

    @property
    def wanted(self) -> CoverageConfig:
        return self.candidate.config.gates.coverage

    def refuse(self, message: str, lines: dict[str, list[Statement]] | None = None, output: str = "") -> None:
        told_lines = "\n".join(told(lines or {}))
        self.result.findings.append(
            Finding(
                gate=GateName.COVERAGE,
                verdict=Verdict.UNCOVERED,
                message=message,
                paths=sorted(lines or {}),
                output="\n\n".join(part for part in (told_lines, output) if part),
            )
        )

    def unmeasured(self, what: str) -> None:
        if self.wanted.required:
            self.refuse(f"coverage is required and can't be measured: {what}")
        else:
            self.result.unverified.append(f"coverage: {what}")

    def no_suite(self) -> None:
        """Gate suite has listed already that there is none."""
        why = "the project has no test command, so nobody knows what part of it the tests run"
        if self.wanted.required:
            self.unmeasured(why)
        else:
            self.result.notes.append(f"coverage: {why}")

    def tell(self, look: LineLook, asked: Lines) -> None:
        summary = f"{asked.covered(look.lines)} of {asked.count} changed lines run ({share(asked.percent(look.lines))})"
        self.result.lines = lines_by_requirement(self.candidate, asked, look)
        log = write_lcov(self.candidate, asked, look.lines)
        self.result.evidence.append(
            Evidence(
                gate=GateName.COVERAGE,
                command=look.run.command,
                exit_code=look.run.exit_code,
                tree=self.candidate.tree,
                seconds=look.run.seconds,
                log=log,
                summary=summary,
            )
        )

    def tell_project(self, look: LineLook, whole: Lines) -> None:
        log = write_lcov(self.candidate, whole, look.lines)
        percent = share(whole.percent(look.lines))
        summary = f"{whole.covered(look.lines)} of {whole.count} lines of the project run ({percent})"
        one = self.result.evidence[-1]
        told_by = {"command": look.run.command, "exit_code": look.run.exit_code, "seconds": look.run.seconds}
        self.result.evidence.append(one.model_copy(update={**told_by, "log": log, "summary": summary}))
        self.result.notes += [f"coverage: {path}: not counted" for path in whole.unread[:SHOWN]]


def _nothing(candidate: Candidate, why: str) -> GateResult:
    looked = Evidence(gate=GateName.COVERAGE, tree=candidate.tree, summary=f"nothing to measure: {why}")
    return GateResult(gate=GateName.COVERAGE, evidence=[looked], notes=[f"coverage: {why}"])


def _too_few(asked: Lines, look: LineLook, wanted: float) -> str:
    covered, percent = asked.covered(look.lines), share(asked.percent(look.lines))
    return (
        f"the tests run {covered} of {asked.count} changed lines ({percent}, {share(wanted)} are asked for). "
        + _unrun(asked.not_run(look.lines))
    )


def _unrun(lines: dict[str, list[Statement]]) -> str:
    places = told(lines)
    more = f" and {len(places) - SHOWN} more files" if len(places) > SHOWN else ""
    return f"No test runs {'; '.join(places[:SHOWN])}{more}. {REPAIR}"


def share(percent: float) -> str:
    """Never rounded up."""
    return f"{floor(percent * 10) / 10:g} %"
