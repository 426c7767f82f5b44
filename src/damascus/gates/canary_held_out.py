"""A failing test of ours among the held-out acceptance tests: whoever fools their runner is found as elsewhere.

Nothing of them leaves this file in a finding, as nothing leaves gate acceptance.
"""

import tarfile
from dataclasses import replace
from pathlib import PurePosixPath

from damascus.domain.ids import Sha
from damascus.domain.ports import Candidate, EvidenceRunner, Finding, GateResult, TestRun
from damascus.domain.verdict import Verdict
from damascus.gates.acceptance import acceptance_job
from damascus.gates.canary_places import Laying, laying_of, style_of
from damascus.gates.canary_sight import seen_by_path
from damascus.gates.held_out import HeldOutFile, held_out_files
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


def look(runner: EvidenceRunner, candidate: Candidate, base: Sha, stops: bool, result: GateResult) -> None:
    """One further run of the held-out tests; on the base only if ours was not seen."""
    if candidate.acceptance is None:
        return
    try:
        files = list(held_out_files(candidate.acceptance))
    except tarfile.TarError:
        return  # gate acceptance says so
    job = acceptance_job(candidate, files)
    green = runner.run(job)
    laying = _behind(files, job.overlay_at, job.command, green, stops)
    if not laying:
        result.unverified.append(NOTHING)
        return
    log = candidate.private_logs / "canary-held-out.log"
    run = runner.run(replace(job, files=laying.files, fresh=True, log=log))
    told = evidence("canary", run).model_copy(update={"command": "", "summary": "among the held-out tests"})
    result.evidence.append(told)
    if _shown(run, laying):
        return
    alone = _alone(files, job.overlay_at, job.command, green, laying, stops)
    control = runner.run(replace(job, tree=base, files=alone.files, fresh=True, log=log))
    if _shown(control, alone):
        finding = Finding(gate="canary", verdict=Verdict.RUNNER_COMPROMISED, message=HIDDEN)
        result.findings.append(finding)
    else:
        result.unverified.append(NOT_SEEN)


def _shown(run: TestRun, laying: Laying) -> bool:
    found = seen_by_path(run, laying.names)
    return run.exit_code != 0 and all(found[path] == len(names) for path, names in laying.names.items())


def _behind(files: list[HeldOutFile], folder: str, command: str, green: TestRun, stops: bool) -> Laying:
    tests = [file for file in files if tests_in(file.content, file.path).tests]
    laid = {}
    for file in tests[-1:] if stops else tests:
        style, made = _style(file, folder, command, green, stops), _made(file)
        laid[f"{folder}/{file.path}"] = canaries.append(file.path, file.content, made, style)
    return laying_of(laid)


def _alone(
    files: list[HeldOutFile], folder: str, command: str, green: TestRun, laying: Laying, stops: bool
) -> Laying:
    """The base lacks the code that the held-out tests need: there our tests stand for themselves."""
    known = {f"{folder}/{file.path}": file for file in files}
    laid = {}
    for path in laying.files:
        file = known[path]
        style = _style(file, folder, command, green, stops)
        laid[path] = canaries.alone(file.path, file.content, _made(file), style)
    return laying_of(laid)


def _style(file: HeldOutFile, folder: str, command: str, green: TestRun, stops: bool) -> Style:
    """A `run` script names no runner in the command; the file's own way of writing tests says enough."""
    style = style_of(f"{folder}/{file.path}", file.content, command, green, stops)
    scripted = PurePosixPath(command).name == "run"
    cases = scripted and b"TestCase" in file.content
    return replace(style, functions=not cases, classes=cases) if scripted else style


def _made(file: HeldOutFile) -> MadeUp:
    text = file.content.decode("utf-8", errors="replace")
    return MadeUp(tests_in(file.content, file.path).tests, taken=text)
