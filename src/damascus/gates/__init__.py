"""The gates, in order. A new one is a sibling file and a line here; fail-fast belongs to the engine.

Imports wait until gates are wanted: the scanner's process lives in this package too, and should start fast.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from damascus.domain.ports import EvidenceRunner, Gate
    from damascus.git.mirror import Mirror

BEFORE_REBASE = ("scope", "secrets", "weakened_tests", "red")
AFTER_REBASE = ("tests", "requirements", "commands", "acceptance")


@dataclass(frozen=True)
class GateSet:
    """`before` judges what the agent left, `after` the commit that shall land."""

    before: "tuple[Gate, ...]"
    after: "tuple[Gate, ...]"
    warm: Callable[[], None]
    """Starts what the first story would otherwise wait for."""
    close: Callable[[], None]


def gates(runner: "EvidenceRunner", mirror: "Mirror") -> GateSet:
    from damascus.gates.acceptance import Acceptance
    from damascus.gates.commands import Commands
    from damascus.gates.red_green import Red
    from damascus.gates.requirements import Requirements
    from damascus.gates.scope import ScopeGate
    from damascus.gates.secrets import Secrets
    from damascus.gates.tests import Tests
    from damascus.gates.weakened_tests import WeakenedTests
    from damascus.scanning.scanner import Scanner

    scanner = Scanner()
    every: tuple[Gate, ...] = (
        ScopeGate(),
        Secrets(scanner),
        WeakenedTests(),
        Red(runner, mirror),
        Tests(runner),
        Requirements(runner),
        Commands(runner),
        Acceptance(runner),
    )
    registry = {gate.name: gate for gate in every}
    return GateSet(
        tuple(registry[name] for name in BEFORE_REBASE),
        tuple(registry[name] for name in AFTER_REBASE),
        scanner.warm,
        scanner.close,
    )
