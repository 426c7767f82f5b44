"""Gate test_contracts: every line of a task's test contract has a test in its file that names it and passed."""

from dataclasses import replace
from pathlib import Path

import pytest

from damascus.domain.judged_contracts import JudgedContract, contract_line
from damascus.domain.ports import GateResult
from damascus.domain.spec import Requirement
from damascus.domain.tasks import ContractKind, TestContract
from damascus.gates.test_contracts import TestContracts
from tests.gates.judging import BASE, CODE, PYTEST, PYTHON, TEST, Judging, verdicts

pytestmark = pytest.mark.req("A1.3")

ONE = TestContract("TC-1", "adds", ContractKind.UNIT, "tests/test_add.py")
TWO = TestContract("TC-2", "adds far", ContractKind.INTEGRATION, "tests/test_far.py")
FAR = {"tests/test_far.py": "from src import add\n\ndef test_req_002_far():\n    assert add(1, 20) == 21\n"}
UNMET = ["contract_unmet"]


def judged(judging: Judging, files: dict[str, str], *contracts: TestContract, command: str = PYTEST) -> GateResult:
    needs = tuple(Requirement(one.requirement, one.behaviour) for one in contracts)
    asked = judging.candidate(files, command=command, contracts=contracts, requirements=needs)
    return TestContracts(judging.runner, judging.mirror).check(replace(asked, red=judging.red(asked)))


def test_every_line_with_its_test_is_met(tmp_path: Path) -> None:
    result = judged(Judging.of(tmp_path), CODE | TEST | FAR, ONE, TWO)
    assert result.findings == []
    assert [(one.id, one.tests) for one in result.contracts] == [
        ("TC-1", ["tests/test_add.py::test_req_001_adds"]),
        ("TC-2", ["tests/test_far.py::test_req_002_far"]),
    ]
    assert result.evidence[0].summary == "TC: 2/2 pass (1 unit, 1 integration)"


def test_a_story_without_a_contract_has_nothing_to_do(tmp_path: Path) -> None:
    result = judged(Judging.of(tmp_path), CODE | TEST)
    assert (result.findings, result.unverified, result.evidence) == ([], [], [])


@pytest.mark.parametrize(
    ("far", "why"),
    [
        ({}, "there is no tests/test_far.py"),
        ({"tests/test_add.py": TEST["tests/test_add.py"] + "\ndef test_req_002():\n    assert add(2, 2) == 4\n"}, "no"),
        ({"tests/test_far.py": FAR["tests/test_far.py"].replace("002", "003")}, "names REQ-002"),
        (
            {
                "tests/test_far.py": "import pytest\nfrom src import add\n\n@pytest.mark.skip\n"
                "def test_req_002():\n    assert add(1, 2) == 3\n"
            },
            "skipped",
        ),
        ({"tests/test_far.py": "from src import add\n\ndef test_req_002_far():\n    add(1, 20)\n"}, "proves nothing"),
        ({"tests/test_far.py": "def test_req_002_far():\n    assert 1 == 1\n"}, "proves nothing"),
        ({"tests/test_far.py": FAR["tests/test_far.py"].replace("21", "22")}, "not green"),
    ],
    ids=["no file", "in another file", "another id", "skipped", "asks nothing", "never red", "red"],
)
def test_a_line_without_its_test_is_not_met(tmp_path: Path, far: dict[str, str], why: str) -> None:
    """Rule 1 of the builder: never DONE without all TC passing."""
    result = judged(Judging.of(tmp_path), CODE | TEST | far, ONE, TWO)
    assert verdicts(result) == UNMET
    finding = result.findings[0]
    assert "TC-2" in finding.message and why in finding.message and "REQ-002" in finding.requirements


def test_another_storys_test_of_the_same_number_is_not_this_ones(tmp_path: Path) -> None:
    """Two tasks may share a test file, and each has a REQ-001 of its own."""
    old = {
        "src.py": "def one():\n    return 1\n",
        "tests/test_add.py": "from src import one\n\ndef test_req_001_one():\n    assert one() == 1\n",
    }
    judging = Judging.of(tmp_path, BASE | old)
    elsewhere = {"tests/test_far.py": FAR["tests/test_far.py"].replace("002", "001")}
    result = judged(judging, {"src.py": old["src.py"] + CODE["src.py"]} | elsewhere, ONE)
    assert verdicts(result) == UNMET and "tests/test_add.py" in result.findings[0].message


def test_what_tells_no_single_test_needs_a_command_that_counts(tmp_path: Path) -> None:
    script = f"{PYTHON} -c \"import sys; sys.path.insert(0, '.'); from src import add; assert add(1, 2) == 3\""
    judging = Judging.of(tmp_path)
    assert "does not tell which test passed" in judged(judging, CODE | TEST, ONE, command=script).findings[0].message
    own = replace(ONE, command=f"{PYTEST}/test_add.py")
    assert judged(judging, CODE | TEST, own, command=script).findings == []
    uncounted = judged(judging, CODE | TEST, replace(ONE, command="true"), command=script)
    assert verdicts(uncounted) == UNMET and "tests not counted" in uncounted.findings[0].message
    counted = f"{script} && echo 'Ran 1 test in 0.1s' && echo && echo OK"
    assert judged(judging, CODE | TEST, replace(ONE, command=counted), command=script).findings == []


def test_the_contracts_own_command_must_pass_a_test_that_names_it(tmp_path: Path) -> None:
    judging = Judging.of(tmp_path)
    other = judged(judging, CODE | TEST, replace(ONE, command=f"{PYTEST}/test_old.py"))
    assert verdicts(other) == UNMET and "no test of tests/test_add.py" in other.findings[0].message
    red = judged(judging, CODE | TEST, replace(ONE, command=f"{PYTEST}/test_add.py && exit 3"))
    assert verdicts(red) == UNMET and "exit 3" in red.findings[0].message
    unnamed = {"tests/test_add.py": TEST["tests/test_add.py"].replace("req_001_", "")}
    named = judged(judging, CODE | unnamed, replace(ONE, command=f"{PYTEST}/test_add.py"))
    assert verdicts(named) == UNMET


def test_the_line_that_people_see() -> None:
    def one(ident: str, kind: ContractKind, why: str = "") -> JudgedContract:
        return JudgedContract(id=ident, kind=kind, why=why)

    unit, whole = (
        one("TC-1", ContractKind.UNIT),
        [one("TC-2", ContractKind.INTEGRATION), one("TC-3", ContractKind.INTEGRATION)],
    )
    assert contract_line([unit, *whole]) == "TC: 3/3 pass (1 unit, 2 integration)"
    assert contract_line([unit, one("TC-2", ContractKind.E2E, "red")]) == "TC: 1/2 pass (1 unit); not TC-2"
    assert contract_line([one("TC-1", ContractKind.VISUAL, "red")]) == "TC: 0/1 pass; not TC-1"
    assert contract_line([]) == ""
