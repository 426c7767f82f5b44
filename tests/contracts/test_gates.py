"""Every gate of the registry keeps the contract, in the order that the engine relies on."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from damascus.gates import AFTER_REBASE, BEFORE_REBASE, GateSet, gates
from tests.contracts.gate_contract import GateContract
from tests.gates.judging import Judging

NAMES = [*BEFORE_REBASE, *AFTER_REBASE]


@pytest.fixture
def judging(tmp_path: Path) -> Judging:
    return Judging.of(tmp_path)


@pytest.fixture
def gate_set(judging: Judging) -> Iterator[GateSet]:
    made = gates(judging.runner, judging.mirror)
    yield made
    made.close()


@pytest.fixture
def contract(request: pytest.FixtureRequest, gate_set: GateSet, judging: Judging, tmp_path: Path) -> GateContract:
    found = {gate.name: gate for gate in (*gate_set.before, *gate_set.after)}
    return GateContract(found[request.param], judging, tmp_path)


def test_the_order(gate_set: GateSet) -> None:
    assert tuple(gate.name for gate in gate_set.before) == BEFORE_REBASE
    assert tuple(gate.name for gate in gate_set.after) == AFTER_REBASE


@pytest.mark.req("D6", "D7", "X1", "A10")
@pytest.mark.parametrize("contract", NAMES, indirect=True)
def test_lets_the_honest_through(contract: GateContract) -> None:
    contract.lets_the_honest_through()


@pytest.mark.req("D6", "D7", "X1", "A10")
@pytest.mark.parametrize("contract", NAMES, indirect=True)
def test_stops_the_lying(contract: GateContract) -> None:
    contract.stops_the_lying()


@pytest.mark.parametrize("contract", NAMES, indirect=True)
def test_says_the_same_twice(contract: GateContract) -> None:
    contract.says_the_same_twice()


@pytest.mark.parametrize("contract", NAMES, indirect=True)
def test_leaves_nothing_behind(contract: GateContract) -> None:
    contract.leaves_nothing_behind()
