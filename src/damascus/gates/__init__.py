"""The gates, in order. A new one is a sibling file and a line here; fail-fast belongs to the engine."""

from dataclasses import dataclass

from damascus.domain.ports import EvidenceRunner, Gate
from damascus.gates.acceptance import Acceptance
from damascus.gates.canary import Canary
from damascus.gates.commands import Commands
from damascus.gates.knows_tests import KnowsTests
from damascus.gates.mutation import Mutation
from damascus.gates.old_tests import OldTests
from damascus.gates.red_green import Red
from damascus.gates.requirements import Requirements
from damascus.gates.scope import ScopeGate
from damascus.gates.secrets import Secrets
from damascus.gates.suite import SuiteGate
from damascus.gates.tests import Tests
from damascus.gates.weakened_tests import WeakenedTests
from damascus.git.mirror import Mirror
from damascus.scanning.scanner import Scanner

BEFORE_REBASE = ("scope", "secrets", "weakened_tests", "knows_tests", "red")
AFTER_REBASE = ("tests", "requirements", "suite", "old_tests", "commands", "acceptance")
BESIDE = ("canary", "mutation")


@dataclass(frozen=True)
class GateSet:
    """`before` judges what the agent left, `after` the commit that shall land, `beside` does so at the same time."""

    before: tuple[Gate, ...]
    after: tuple[Gate, ...]
    beside: tuple[Gate, ...] = ()


def gates(runner: EvidenceRunner, mirror: Mirror, scanner: Scanner) -> GateSet:
    every: tuple[Gate, ...] = (
        ScopeGate(mirror),
        Secrets(scanner),
        WeakenedTests(),
        KnowsTests(),
        Red(runner, mirror),
        Tests(runner),
        Requirements(runner),
        SuiteGate(runner, mirror),
        OldTests(runner, mirror),
        Commands(runner),
        Acceptance(runner),
        Canary(runner, mirror),
        Mutation(runner),
    )
    registry = {gate.name: gate for gate in every}
    return GateSet(
        tuple(registry[name] for name in BEFORE_REBASE),
        tuple(registry[name] for name in AFTER_REBASE),
        tuple(registry[name] for name in BESIDE),
    )
