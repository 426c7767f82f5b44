"""Gate commands: every [gates.commands] entry of the base's config exits 0 on the candidate (lint, types, build …)."""

from damascus.domain.ports import Candidate, EvidenceRunner, Finding, Gate, GateName, GateResult, TestRun
from damascus.domain.verdict import Verdict
from damascus.gates.runs import evidence, failed_tests, job, summary


class Commands(Gate):
    name = GateName.COMMANDS

    def __init__(self, runner: EvidenceRunner) -> None:
        self._runner = runner

    def check(self, candidate: Candidate) -> GateResult:
        runs = {
            key: self._runner.run(job(candidate, candidate.tree, command, f"gate-{_file_name(key)}"))
            for key, command in candidate.config.gates.commands.items()
        }
        return GateResult(
            gate=self.name,
            findings=[_finding(key, run) for key, run in runs.items() if not run.green],
            evidence=[evidence(key, run) for key, run in runs.items()],
        )


def _file_name(key: str) -> str:
    return "".join(char if char.isalnum() or char in "-_" else "_" for char in key)


def _finding(key: str, run: TestRun) -> Finding:
    message = f"the project's command {key} failed: `{run.command}`: {summary(run)}"
    return Finding(
        gate=key, verdict=Verdict.COMMAND_FAILED, message=message, tests=failed_tests(run), output=run.output
    )
