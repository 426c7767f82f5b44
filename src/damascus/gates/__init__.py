"""The gates, in order. A new one is a sibling file, its name and lane (domain/ports/gates.py) and a line here;
fail-fast belongs to the engine."""

from dataclasses import dataclass

from damascus.domain.ports import EvidenceRunner, Gate, GateLane, GateName, Owners, Pictures
from damascus.gates.acceptance import Acceptance
from damascus.gates.canary import Canary
from damascus.gates.commands import Commands
from damascus.gates.contracts import Contracts
from damascus.gates.coverage import Coverage
from damascus.gates.coverage_run import Looks
from damascus.gates.impact import Impact
from damascus.gates.knows_tests import KnowsTests
from damascus.gates.mutation import Mutation
from damascus.gates.old_tests import OldTests
from damascus.gates.red_green import Red
from damascus.gates.requirements import Requirements
from damascus.gates.scope import ScopeGate
from damascus.gates.secrets import Secrets
from damascus.gates.suite import SuiteGate
from damascus.gates.test_contracts import TestContracts
from damascus.gates.tests import Tests
from damascus.gates.visual import Visual
from damascus.gates.weakened_tests import WeakenedTests
from damascus.git.mirror import Mirror
from damascus.scanning.scanner import Scanner


@dataclass(frozen=True)
class GateSet:
    """`before` judges what the agent left, `after` the commit that shall land, `beside` does so at the same time."""

    before: tuple[Gate, ...]
    after: tuple[Gate, ...]
    beside: tuple[Gate, ...] = ()


def gates(runner: EvidenceRunner, mirror: Mirror, scanner: Scanner, pictures: Pictures, owners: Owners) -> GateSet:
    looks = Looks(runner)
    every: tuple[Gate, ...] = (
        ScopeGate(mirror),
        Secrets(scanner),
        WeakenedTests(),
        KnowsTests(),
        Red(runner, mirror),
        Tests(runner),
        Requirements(runner, mirror),
        TestContracts(runner, mirror),
        Impact(runner, mirror, owners),
        SuiteGate(runner, mirror),
        OldTests(runner, mirror),
        Commands(runner, mirror),
        Contracts(runner),
        Acceptance(runner),
        Visual(runner, pictures),
        Canary(runner, mirror),
        Mutation(runner, looks),
        Coverage(runner, mirror, looks),
    )
    registry = {gate.name: gate for gate in every}
    lanes = {lane: tuple(registry[name] for name in GateName if name.lane is lane) for lane in GateLane}
    return GateSet(lanes[GateLane.BEFORE], lanes[GateLane.AFTER], lanes[GateLane.BESIDE])
