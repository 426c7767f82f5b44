"""Gate test_contracts: no task is DONE before every line of its test contract is met (A1).

A line is met by a test that lies in its file, names its requirement (TC-3: REQ-003), is the story's own, can fail and
passed on the candidate. A command of its own that the Test Command does not run is run here; where its runner tells
counts only, exit 0 and a test that passed are enough. What can't be judged is not met. A story without a contract has
nothing to do here.
"""

from dataclasses import dataclass
from functools import cached_property

from damascus.domain.judged_contracts import JudgedContract, contract_line
from damascus.domain.ports import Candidate, Evidence, EvidenceRunner, Finding, Gate, GateName, GateResult, TestRun
from damascus.domain.requirement_status import MappedTest
from damascus.domain.tasks import TestContract
from damascus.domain.verdict import Verdict
from damascus.gates.proved_before import proved_before, with_those_before
from damascus.gates.requirement_tests import mapped_tests
from damascus.gates.runs import evidence, job, summary, tells_single_tests
from damascus.git.mirror import Mirror
from damascus.stacks import written_name

SHOWN = 3


class TestContracts(Gate):
    name = GateName.TEST_CONTRACTS
    __test__ = False

    def __init__(self, runner: EvidenceRunner, mirror: Mirror) -> None:
        self._runner = runner
        self._mirror = mirror

    def check(self, candidate: Candidate) -> GateResult:
        if not candidate.spec.contracts:
            return GateResult(gate=self.name)
        look = _ContractLook(self._runner, self._mirror, candidate)
        judged = [look.judged(contract) for contract in candidate.spec.contracts]
        unmet = [one for one in judged if not one.met]
        proof = evidence(self.name, look.run).model_copy(update={"summary": contract_line(judged)})
        return GateResult(
            gate=self.name,
            findings=[_unmet(candidate, unmet)] if unmet else [],
            evidence=[proof, *look.commands],
            contracts=judged,
        )


@dataclass
class _ContractLook:
    """The run of the Test Command, and those of the commands that the contract names."""

    runner: EvidenceRunner
    mirror: Mirror
    candidate: Candidate

    def __post_init__(self) -> None:
        self.commands: list[Evidence] = []

    @cached_property
    def run(self) -> TestRun:
        candidate = self.candidate
        return self.runner.run(job(candidate, candidate.tree, candidate.spec.test_command, "tests"))

    @cached_property
    def before(self) -> dict[str, list[MappedTest]]:
        return proved_before(self.runner, self.mirror, self.candidate)

    def judged(self, contract: TestContract) -> JudgedContract:
        tests, why = self._shown(contract)
        return JudgedContract(id=contract.id, kind=contract.kind, file=contract.file, tests=tests, why=why)

    def _shown(self, contract: TestContract) -> tuple[list[str], str]:
        """The tests that prove it, and why it is not met."""
        if contract.file not in self.candidate.files(self.candidate.commit):
            return [], f"there is no {contract.file}"
        if contract.command and not self._ran(contract.command):
            return self._by_command(contract)
        return self._by_name(contract, self.run)

    def _ran(self, command: str) -> bool:
        """Is it part of the Test Command, be it with the files of other lines?"""
        return set(command.split()) <= set(self.candidate.spec.test_command.split())

    def _by_name(self, contract: TestContract, run: TestRun) -> tuple[list[str], str]:
        """The tests of its file in this run that prove it, or why none does."""
        found = with_those_before(mapped_tests(self.candidate, run), self.before).get(contract.requirement, [])
        named = [test for test in found if _file(test.id) == contract.file]
        proving = [test.id for test in named if test.passed and test.proves]
        if not run.green:
            return [], f"`{run.command}` is not green: {summary(run)}"
        if proving:
            return proving, ""
        if named:
            seen = [f"{test.id} ({'proves nothing' if test.passed else test.outcome})" for test in named[:SHOWN]]
            return [], f"no test of {contract.file} that names {contract.requirement} proves it: {', '.join(seen)}"
        if not tells_single_tests(run):
            return [], f"`{run.command}` does not tell which test passed"
        return [], f"no test of {contract.file} that this story wrote names {contract.requirement} and ran"

    def _by_command(self, contract: TestContract) -> tuple[list[str], str]:
        """Its own command: named tests where the runner tells them, else counts."""
        run = self.runner.run(job(self.candidate, self.candidate.tree, contract.command, contract.id.lower()))
        self.commands.append(evidence(f"{GateName.TEST_CONTRACTS} {contract.id}", run))
        if run.green and run.counted and not tells_single_tests(run):
            return [], ""
        if not run.counted:
            return [], f"`{contract.command}`: {summary(run)}"
        return self._by_name(contract, run)


def _file(test: str) -> str:
    return written_name(test)[0]


def _unmet(candidate: Candidate, unmet: list[JudgedContract]) -> Finding:
    needed = {contract.id: contract for contract in candidate.spec.contracts}
    told = [f"{one.id} ({needed[one.id].behaviour}): {one.why}" for one in unmet]
    cure = ", ".join(f"{one.id}: a test in {one.file} that names {needed[one.id].requirement}" for one in unmet)
    return Finding(
        gate=GateName.TEST_CONTRACTS,
        verdict=Verdict.CONTRACT_UNMET,
        message=f"the test contract is not met: {'; '.join(told)}. Write for {cure}, fails without the code and passes "
        "with it.",
        paths=sorted({one.file for one in unmet}),
        requirements=[needed[one.id].requirement for one in unmet],
        output="",
    )
