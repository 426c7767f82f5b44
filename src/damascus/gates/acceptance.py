"""Gate acceptance: held-out tests that no agent ever sees (X1). Told of a failure is the requirement, nothing else.

No test name, no path and no output leaves this gate in a finding: whoever knows how it is tested can write for
the test. The log is kept for people, apart from what a brief names.
"""

import tarfile
from dataclasses import replace

from damascus.domain.ports import Candidate, Evidence, EvidenceRunner, Finding, Gate, GateName, GateResult, Job, TestRun
from damascus.domain.verdict import Verdict
from damascus.evidence.held_out import HeldOutFile, acceptance_command, folder_of, held_out_files
from damascus.evidence.reading import tests_in
from damascus.gates.requirements import names_requirement
from damascus.gates.runs import failed_tests, job
from damascus.stacks import written_name
from damascus.stacks.reports import expects_count


class Acceptance(Gate):
    name = GateName.ACCEPTANCE

    def __init__(self, runner: EvidenceRunner) -> None:
        self._runner = runner

    def check(self, candidate: Candidate) -> GateResult:
        if candidate.acceptance is None:
            missing = candidate.spec.acceptance is not None
            return GateResult(gate=self.name, findings=[_finding([], "could not be read")] if missing else [])
        try:
            files = list(held_out_files(candidate.acceptance))
        except tarfile.TarError:
            return GateResult(gate=self.name, findings=[_finding([], "could not be read")])
        return self._judged(candidate, files, self._runner.run(acceptance_job(candidate, files)))

    def _judged(self, candidate: Candidate, files: list[HeldOutFile], run: TestRun) -> GateResult:
        silent = not run.counted and expects_count(run.command)
        passed = run.green and not silent
        findings = [] if passed else [_failure(candidate, files, run)]
        return GateResult(
            gate=self.name,
            findings=findings,
            evidence=[_evidence(run, passed)],
            unverified=[] if run.counted else ["acceptance: by exit code only"],
        )


def _evidence(run: TestRun, passed: bool) -> Evidence:
    return Evidence(
        gate=GateName.ACCEPTANCE,
        command=run.command,
        exit_code=run.exit_code,
        tree=run.tree,
        seconds=run.seconds,
        log=run.log,
        summary="held-out tests passed" if passed else "held-out tests failed",
    )


def acceptance_job(candidate: Candidate, files: list[HeldOutFile]) -> Job:
    """As the visible tests are run: variables, arguments, folders."""
    folder = folder_of(candidate)
    command = acceptance_command(files, candidate.spec.test_command, folder, candidate.files(candidate.commit))
    wanted = job(candidate, candidate.tree, command, "acceptance")
    hidden = candidate.private_logs / "acceptance.log"
    return replace(wanted, overlay=candidate.acceptance, overlay_at=folder, log=hidden)


def _failure(candidate: Candidate, files: list[HeldOutFile], run: TestRun) -> Finding:
    if run.counted and run.total == 0:
        return _finding([], "hold no test")
    return _finding(_failed_requirements(candidate, files, failed_tests(run)), "failed")


def _failed_requirements(candidate: Candidate, files: list[HeldOutFile], failed: list[str]) -> list[str]:
    """Ids that the failed tests name in the held-out source; a file that could not be collected names all of its."""
    folder = folder_of(candidate)
    written = {f"{folder}/{file.path}": tests_in(file.content, file.path) for file in files}
    texts = []
    for test in failed:
        path, name = written_name(test)
        known = written[path].tests.values() if path in written else []
        texts += [one.text for one in known if not name or one.is_reported_as(name)]
    return [need.id for need in candidate.spec.requirements if any(names_requirement(text, need.id) for text in texts)]


def _finding(requirements: list[str], what: str) -> Finding:
    about = ", ".join(requirements) or "a requirement (no id named)"
    message = f"the held-out acceptance tests {what}: {about}. Read it again; how it is tested is not told."
    return Finding(
        gate=GateName.ACCEPTANCE, verdict=Verdict.ACCEPTANCE_FAILED, message=message, requirements=requirements
    )
