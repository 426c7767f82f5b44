"""What every gate promises, whatever it looks at. A new gate is one line in test_gates.py."""

from dataclasses import dataclass, replace

from damascus.domain.ports import Candidate, Gate, GateResult
from damascus.domain.spec import Requirement
from damascus.domain.tasks import ContractKind, TestContract
from damascus.domain.verdict import Verdict
from tests.gates.judging import CODE, TEST, Judging, archive, leftovers
from tests.gates.shop_api import written

HELD_OUT = "from src import add\n\ndef test_req_001():\n    assert add(2, 2) == 4\n"
CONTRACTS = '[contracts]\nopenapi = ["api/*.json"]\n'
VISUAL = '[visual]\npages = ["site/index.html"]\n'
CONFIG = f'[gates.commands]\nlint = "grep -q def src.py"\n{CONTRACTS}{VISUAL}'
SCOPE = ("src.py", "tests/")
API = {"api/shop.json": written()}
SITE = {"site/index.html": "<!doctype html><h1>Shop</h1>"}


@dataclass(frozen=True)
class Candidates:
    honest: Candidate
    lying: Candidate


def honest(judging: Judging) -> Candidate:
    """A candidate that every gate must let through."""
    scope = (*SCOPE, "api/", "site/")
    return _with_red(judging, judging.candidate(CODE | TEST | API | SITE, config=CONFIG, scope=scope, **_spec()))


def lying(judging: Judging) -> Candidate:
    """A candidate in which every gate must find what is its own to find."""
    token = "sk-ant-" + "api03-" + "Zq7Xw2Lp9Kd4" * 4
    files = {
        "src.py": f"import os\nKEY = '{token}'\nTESTED = os.environ.get('PYTEST_CURRENT_TEST')\n",
        "pytest.ini": "[pytest]\npython_files = never_*.py\n",
        "conftest.py": "collect_ignore = ['tests']\n",
        "tests/test_old.py": None,
        "api/shop.json": written(lambda api: api.pop("info")),
    }
    config = f'[gates.commands]\nlint = "test ! -e src.py || grep -q add src.py"\n{CONTRACTS}{VISUAL}'
    return _with_red(judging, judging.candidate(files, config=config, **_spec()))


def hollow(judging: Judging) -> Candidate:
    """Green, and worth nothing: what the gates that stand beside CI must find."""
    always = (
        "import pytest\n\n\n@pytest.hookimpl(hookwrapper=True)\ndef pytest_runtest_makereport(item, call):\n"
        "    told = yield\n    told.get_result().outcome = 'passed'\n"
    )
    unused = "".join(f"    b = a + {number}\n" for number in range(9))
    files = {"src.py": f"{CODE['src.py']}\n\ndef unused(a):\n{unused}    return b\n"} | TEST | {"conftest.py": always}
    return _with_red(judging, judging.candidate(files, config=CONFIG, **_spec()))


def _spec() -> dict[str, object]:
    contract = TestContract("TC-1", "adds", ContractKind.UNIT, "tests/test_add.py")
    return {"requirements": (Requirement("REQ-001", "adds"),), "acceptance": "held/", "contracts": (contract,)}


def _with_red(judging: Judging, candidate: Candidate) -> Candidate:
    tar = archive({"test_held.py": HELD_OUT})
    return replace(candidate, acceptance=tar, red=judging.red(candidate))


class GateContract:
    """Run against one gate by test_gates.py. The candidates are shared: a gate changes nothing."""

    def __init__(self, gate: Gate, judging: Judging, candidates: Candidates) -> None:
        self.gate, self.judging, self.candidates = gate, judging, candidates

    def lets_the_honest_through(self) -> None:
        result = self.gate.check(self.candidates.honest)
        assert result.findings == [], result.findings
        self._is_well_formed(result)

    def stops_the_lying(self) -> None:
        result = self.gate.check(self.candidates.lying)
        assert result.findings, f"{self.gate.name} let it through"
        self._is_well_formed(result)

    def says_the_same_twice_and_leaves_nothing(self) -> None:
        refs = self.judging.mirror.for_each_ref("refs/")
        first, second = self.gate.check(self.candidates.lying), self.gate.check(self.candidates.lying)
        assert _facts(first) == _facts(second), (_facts(first), _facts(second))
        assert self.judging.mirror.for_each_ref("refs/") == refs
        assert leftovers(self.judging.logs.parent) == []

    def _is_well_formed(self, result: GateResult) -> None:
        assert result.gate == self.gate.name
        assert result.evidence, "a gate that passes or fails says what it looked at"
        for finding in result.findings:
            assert finding.verdict is not Verdict.PASSED and finding.message.strip() and finding.gate
        assert GateResult.model_validate_json(result.model_dump_json()) == result


def _facts(result: GateResult) -> object:
    findings = [(f.gate, f.verdict, f.message, f.paths, f.tests, f.requirements) for f in result.findings]
    return findings, result.unverified, sorted(result.red_tests), sorted(result.green_tests)
