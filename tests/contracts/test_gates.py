"""Every gate of the registry keeps the contract, in the order that the engine relies on."""

from collections.abc import Iterator

import pytest

from damascus.domain.ports import GateLane, GateName
from damascus.evidence.runner import CleanRunner
from damascus.gates import GateSet, gates
from damascus.scanning.scanner import Scanner
from damascus.system.ports import PortBlocks
from tests.browser import RememberedPictures, need_browser
from tests.contracts.gate_contract import Candidates, GateContract, hollow, honest, lying
from tests.gates.judging import PYTEST, Judging, quick
from tests.gates.owned import KnownOwners, owner

OLD = owner("T-0", ["tests/test_old.py"], test_command=f"{PYTEST}/test_old.py", contracts=())
NAMES = list(GateName)
ORDER = {
    "before": ["scope", "secrets", "weakened_tests", "knows_tests", "red"],
    "after": [
        "tests", "requirements", "test_contracts", "impact", "suite", "old_tests", "commands", "contracts",
        "acceptance", "visual",
    ],
    "beside": ["canary", "mutation", "coverage"],
}  # fmt: skip


@pytest.fixture(scope="module")
def judging(tmp_path_factory: pytest.TempPathFactory) -> Judging:
    """With ports, as a worker has them: some gates start a server."""
    folder = tmp_path_factory.mktemp("gates")
    made = Judging.of(folder)
    made.runner = CleanRunner(made.mirror, folder / "c", quick, ports=PortBlocks(folder / "ports"))
    return made


@pytest.fixture(scope="module")
def candidates(judging: Judging) -> Candidates:
    return Candidates(honest(judging), lying(judging))


@pytest.fixture(scope="module")
def green_candidates(judging: Judging) -> Candidates:
    return Candidates(honest(judging), hollow(judging))


@pytest.fixture(scope="module")
def gate_set(judging: Judging) -> Iterator[GateSet]:
    scanner = Scanner()
    yield gates(judging.runner, judging.mirror, scanner, RememberedPictures(), KnownOwners([OLD]))
    scanner.close()


@pytest.fixture
def contract(
    request: pytest.FixtureRequest,
    gate_set: GateSet,
    judging: Judging,
    candidates: Candidates,
    green_candidates: Candidates,
) -> GateContract:
    """Those that stand beside are asked only once the tests are green."""
    found = {gate.name: gate for gate in (*gate_set.before, *gate_set.after, *gate_set.beside)}
    if request.param is GateName.VISUAL:
        need_browser()
    late = request.param.lane is GateLane.BESIDE
    return GateContract(found[request.param], judging, green_candidates if late else candidates)


def test_the_order(gate_set: GateSet) -> None:
    lanes = {"before": gate_set.before, "after": gate_set.after, "beside": gate_set.beside}
    assert {lane: [gate.name for gate in found] for lane, found in lanes.items()} == ORDER


@pytest.mark.req("D6", "D7", "X1", "A5", "A10")
@pytest.mark.parametrize("contract", NAMES, indirect=True)
def test_lets_the_honest_through(contract: GateContract) -> None:
    contract.lets_the_honest_through()


@pytest.mark.req("D6", "D7", "X1", "A5", "A10")
@pytest.mark.parametrize("contract", NAMES, indirect=True)
def test_stops_the_lying(contract: GateContract) -> None:
    contract.stops_the_lying()


@pytest.mark.parametrize("contract", NAMES, indirect=True)
def test_says_the_same_twice_and_leaves_nothing(contract: GateContract) -> None:
    contract.says_the_same_twice_and_leaves_nothing()
