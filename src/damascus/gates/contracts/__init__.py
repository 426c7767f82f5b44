"""Gate contracts: what others rely on is valid, keeps its promises to them, and is what the code does (A5).

    touched.py        which contracts of `[contracts]` the diff concerns
    descriptions.py   OpenAPI: valid; what breaks a client, against the base
    data_models.py    JSON Schemas: valid; their samples conform, main's too
    zod.py            Zod schemas: their samples conform, main's too
    server.py         schemathesis against the project's own server
    permitted.py      which breaking change a spec permits, and which nobody may

All of it is read from the base commit's settings. Where the diff touches a contract and nothing of it could be checked,
it has not passed; where a package is missing, a person is asked. A task of type api or data has not passed before
something was checked.
"""

from damascus.domain.ports import Candidate, Evidence, EvidenceRunner, Finding, Gate, GateName, GateResult
from damascus.domain.tasks import TaskType
from damascus.domain.verdict import Verdict
from damascus.gates.contracts.data_models import look_at_schemas
from damascus.gates.contracts.descriptions import look_at_descriptions
from damascus.gates.contracts.look import LookAtContracts
from damascus.gates.contracts.needs import need_packages
from damascus.gates.contracts.server import descriptions_to_serve, look_at_server
from damascus.gates.contracts.touched import Touched, unnamed_descriptions
from damascus.gates.contracts.zod import look_at_zod


class Contracts(Gate):
    name = GateName.CONTRACTS

    def __init__(self, runner: EvidenceRunner) -> None:
        self._runner = runner

    def check(self, candidate: Candidate) -> GateResult:
        touched = Touched.of(candidate)
        unnamed = [f"contracts: {path}: not named by [contracts]" for path in unnamed_descriptions(candidate)]
        if not touched:
            lacks = unchecked(candidate, "it touches no file that [contracts] names")
            looked = [Evidence(gate=self.name, tree=candidate.tree, summary=lacks[0].message)] if lacks else []
            return GateResult(gate=self.name, findings=lacks, evidence=looked, unverified=unnamed)
        need_packages(touched, served=bool(descriptions_to_serve(candidate, touched)))
        look = LookAtContracts()
        look_at_descriptions(candidate, touched, look)
        look_at_schemas(candidate, touched, look)
        look_at_zod(self._runner, candidate, touched, look)
        if not look.findings:
            look_at_server(self._runner, candidate, touched, look)
        checked = look.saw or look.runs
        return GateResult(
            gate=self.name,
            findings=look.findings or ([] if checked else unchecked(candidate, "; ".join(look.unverified))),
            evidence=[*(Evidence(gate=self.name, tree=candidate.tree, summary=each) for each in look.saw), *look.runs],
            unverified=[*unnamed, *look.unverified],
            notes=look.notes,
        )


def unchecked(candidate: Candidate, why: str) -> list[Finding]:
    """For a task of type api or data (A5): what it promises to others must have been looked at."""
    kind = candidate.spec.task_type
    if kind not in (TaskType.API, TaskType.DATA):
        return []
    if not candidate.config.contracts.paths:
        why = f"main's damascus.toml names no contract ([contracts] {'openapi' if kind is TaskType.API else 'schemas'})"
    message = (
        f"a task of type {kind} needs a contract that was checked, and none was: {why}. Write or change the contract."
    )
    return [Finding(gate=GateName.CONTRACTS, verdict=Verdict.CONTRACT_BROKEN, message=message)]
