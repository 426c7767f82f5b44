"""A failing test of ours among the held-out acceptance tests: whoever fools their runner is found as elsewhere. Then
they themselves, expecting other values than the right ones: whoever reads the answers there is found, too.

Nothing of them leaves this file in a finding, as nothing leaves gate acceptance.
"""

import tarfile
from dataclasses import dataclass, replace
from pathlib import PurePosixPath

from damascus.domain.ids import Sha
from damascus.domain.ports import Candidate, Evidence, EvidenceRunner, Finding, GateName, GateResult, Job, TestRun
from damascus.domain.verdict import Verdict
from damascus.evidence.held_out import HeldOutFile, held_out_files
from damascus.gates.acceptance import acceptance_job
from damascus.gates.canary_expectations import still_green
from damascus.gates.canary_places import Laying, laying_of, style_of
from damascus.gates.canary_sight import seen_by_path
from damascus.gates.runs import evidence
from damascus.stacks import canaries, tests_in
from damascus.stacks.layer import Style
from damascus.stacks.made_up import MadeUp

NOTHING = "canary: into the held-out tests no failing test of ours could be laid"
NOT_SEEN = "canary: a failing test of ours among the held-out tests is not seen, nor on the base"
HIDDEN = (
    "a failing test that was laid among the held-out acceptance tests is not reported as failed; on main it is. "
    "Leave the test runner, its report and its exit code alone."
)

READ_THERE = (
    "the held-out acceptance tests stay green though they expect other values than the right ones. "
    "The code must answer by itself: an answer must not equal everything, nor be taken from a test."
)


@dataclass(frozen=True)
class HeldOutGround:
    """The held-out tests, how they are run, and their green run."""

    files: list[HeldOutFile]
    job: Job
    green: TestRun
    stops: bool

    def behind(self) -> Laying:
        chosen = self._with_tests()
        return laying_of({self._path(f): canaries.append(f.path, f.content, _made(f), self._style(f)) for f in chosen})

    def alone(self, laying: Laying) -> Laying:
        """The base lacks the code that the held-out tests need: there our tests stand for themselves."""
        chosen = [file for file in self.files if self._path(file) in laying.files]
        return laying_of({self._path(f): canaries.alone(f.path, f.content, _made(f), self._style(f)) for f in chosen})

    def expecting(self) -> Laying:
        """Each with another value in the place of one that it expects; the last alone where a failure ends the run."""
        tests = {file: list(tests_in(file.content, file.path).tests) for file in self._with_tests()}
        chosen = {file: names[-1:] if self.stops else names for file, names in tests.items()}
        return laying_of(
            {self._path(f): canaries.expecting(f.path, f.content, names, _made(f)) for f, names in chosen.items()}
        )

    def _with_tests(self) -> list[HeldOutFile]:
        found = [file for file in self.files if tests_in(file.content, file.path).tests]
        return found[-1:] if self.stops else found

    def _path(self, file: HeldOutFile) -> str:
        return f"{self.job.overlay_at}/{file.path}"

    def _style(self, file: HeldOutFile) -> Style:
        """A `run` script names no runner in the command; the file's own way of writing tests says enough."""
        style = style_of(self._path(file), file.content, self.job.command, self.green, self.stops)
        scripted = PurePosixPath(self.job.command).name == "run"
        cases = scripted and b"TestCase" in file.content
        return replace(style, functions=not cases, classes=cases) if scripted else style


def look(runner: EvidenceRunner, candidate: Candidate, base: Sha, stops: bool, result: GateResult) -> None:
    """Two further runs of the held-out tests; on the base only if ours was not seen."""
    if candidate.acceptance is None:
        return
    try:
        files = list(held_out_files(candidate.acceptance))
    except tarfile.TarError:
        return  # gate acceptance says so
    job = replace(acceptance_job(candidate, files), fresh=True, log=candidate.private_logs / "canary-held-out.log")
    ground = HeldOutGround(files, job, runner.run(acceptance_job(candidate, files)), stops)
    laying = ground.behind()
    if not laying:
        result.unverified.append(NOTHING)
        return
    run = runner.run(replace(job, files=laying.files))
    result.evidence.append(_evidence(run, "among the held-out tests"))
    if _shown(run, laying):
        _expecting_otherwise(runner, ground, result)
        return
    alone = ground.alone(laying)
    control = runner.run(replace(job, tree=base, files=alone.files))
    if _shown(control, alone):
        result.findings.append(Finding(gate=GateName.CANARY, verdict=Verdict.RUNNER_COMPROMISED, message=HIDDEN))
    else:
        result.unverified.append(NOT_SEEN)


def _expecting_otherwise(runner: EvidenceRunner, ground: HeldOutGround, result: GateResult) -> None:
    """Who stays green does so once more, with other values, before it is refused."""
    laying = ground.expecting()
    if not laying:
        return
    run = runner.run(replace(ground.job, files=laying.files))
    result.evidence.append(_evidence(run, "the held-out tests, expecting other values"))
    deaf = set(still_green(run, laying))
    if not deaf:
        return
    other = ground.expecting()
    if deaf & set(still_green(runner.run(replace(ground.job, files=other.files)), other)):
        result.findings.append(Finding(gate=GateName.CANARY, verdict=Verdict.CODE_UNPROVED, message=READ_THERE))


def _evidence(run: TestRun, summary: str) -> Evidence:
    return evidence(GateName.CANARY, run).model_copy(update={"command": "", "summary": summary})


def _shown(run: TestRun, laying: Laying) -> bool:
    found = seen_by_path(run, laying.names)
    return run.exit_code != 0 and all(found[path] == len(names) for path, names in laying.names.items())


def _made(file: HeldOutFile) -> MadeUp:
    text = file.content.decode("utf-8", errors="replace")
    return MadeUp(tests_in(file.content, file.path).tests, taken=text)
