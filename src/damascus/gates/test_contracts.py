"""Gate test_contracts: no task is DONE before every line of its test contract is met (A1).

A line is met by a test that lies in its file, names its requirement (TC-3: REQ-003), is the story's own, can fail and
passed on the candidate. A line with a command of its own is met by that command too: exit 0, tests counted, one of its
file among them where the runner tells single tests. What can't be judged is not met. A story without a contract has
nothing to do here.
"""

from dataclasses import dataclass
from functools import cached_property

from damascus.domain.ports import Candidate, Evidence, EvidenceRunner, Finding, Gate, GateName, GateResult, TestRun
from damascus.domain.requirement_status import MappedTest
from damascus.domain.tasks import JudgedContract, TestContract, contract_line
from damascus.domain.verdict import Verdict
from damascus.gates.requirement_tests import mapped_tests
from damascus.gates.runs import evidence, job, summary, tells_single_tests
from damascus.stacks import written_name


class TestContracts(Gate):
    name = GateName.TEST_CONTRACTS
    __test__ = False

    def __init__(self, runner: EvidenceRunner) -> None:
        self._runner = runner

    def check(self, candidate: Candidate) -> GateResult:
        if not candidate.spec.contracts:
            return GateResult(gate=self.name)
        look = _ContractLook(self._runner, candidate)
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
    candidate: Candidate

    def __post_init__(self) -> None:
        self.commands: list[Evidence] = []

    @cached_property
    def run(self) -> TestRun:
        candidate = self.candidate
        return self.runner.run(job(candidate, candidate.tree, candidate.spec.test_command, "tests"))

    @cached_property
    def _mapped(self) -> dict[str, list[MappedTest]]:
        return mapped_tests(self.candidate, self.run)

    def judged(self, contract: TestContract) -> JudgedContract:
        tests, why = self._by_name(contract)
        if contract.file not in self.candidate.files(self.candidate.commit):
            tests, why = [], f"there is no {contract.file}"
        elif contract.command and (why or contract.command not in self.candidate.spec.test_command):
            tests, why = self._by_command(contract, tests)
        return JudgedContract(id=contract.id, kind=contract.kind, file=contract.file, tests=tests, why=why)

    def _by_name(self, contract: TestContract) -> tuple[list[str], str]:
        named = [test for test in self._mapped.get(contract.requirement, []) if _file(test.id) == contract.file]
        proving = [test.id for test in named if test.passed and test.proves]
        if proving and self.run.green:
            return proving, ""
        if not self.run.green:
            return [], f"the Test Command is not green: {summary(self.run)}"
        if named:
            seen = ", ".join(
                f"{test.id} ({test.outcome if not test.passed else 'proves nothing'})" for test in named[:3]
            )
            return [], f"no test of {contract.file} that names {contract.requirement} proves it: {seen}"
        if not tells_single_tests(self.run):
            return [], f"`{self.run.command}` does not tell which test passed"
        return [], f"no test of {contract.file} that this story wrote names {contract.requirement} and ran"

    def _by_command(self, contract: TestContract, tests: list[str]) -> tuple[list[str], str]:
        run = self.runner.run(job(self.candidate, self.candidate.tree, contract.command, contract.id.lower()))
        self.commands.append(evidence(f"{GateName.TEST_CONTRACTS} {contract.id}", run))
        if not run.green or not run.counted:
            return [], f"`{contract.command}`: {summary(run)}"
        if not tells_single_tests(run):
            return tests, ""
        passed = [
            case.id for case in run.cases if case.status == "passed" and _file(case.written or case.id) == contract.file
        ]
        return (tests or passed), "" if passed else f"`{contract.command}` passed no test of {contract.file}"


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
