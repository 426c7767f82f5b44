"""Gate impact: who else owns a changed file has its tests run on the candidate (docs/impact.md)."""

from collections.abc import Collection
from dataclasses import replace
from pathlib import Path

import pytest

from damascus.domain.ports import Owner
from damascus.domain.spec import Requirement
from damascus.domain.tasks import ContractKind, TestContract
from damascus.gates.impact import MOST_OF_KIN, NOBODY, Impact
from damascus.people.receipt_again import NoOwners
from tests.gates.judging import PYTHON, Judging, verdicts
from tests.gates.owned import KnownOwners, owner, pytest_of

pytestmark = pytest.mark.req("A7")

CART = "def total(prices):\n    return sum(prices)\n"
TEST = "from cart import total\n\n\ndef test_REQ_001_total():\n    assert total([1, 2]) == 3\n"
FILES = {"cart.py": CART, "tests/test_cart.py": TEST}
BROKEN = "def total(prices):\n    return 0\n"


def cart(story: str = "T-1", files: Collection[str] = tuple(FILES), item: int = 1, **parts: object) -> Owner:
    return owner(story, files, item, **parts)


def gate(judging: Judging, *owners: Owner) -> Impact:
    return Impact(judging.runner, judging.mirror, KnownOwners(list(owners)))


@pytest.mark.req("A7.1")
def test_a_neighbours_broken_test_refuses_and_names_owner_contract_and_test(tmp_path: Path) -> None:
    judging = Judging.of(tmp_path, FILES)
    result = gate(judging, cart()).check(judging.candidate({"cart.py": BROKEN}))
    assert verdicts(result) == ["regression"]
    found = result.findings[0]
    assert found.owner == "T-1"
    assert found.tests == ["tests/test_cart.py::test_REQ_001_total"]
    assert "T-1" in found.message and "TC-1 tests/test_cart.py::test_REQ_001_total" in found.message
    assert found.paths == ["cart.py"]


def test_what_holds_passes_with_its_cost_in_the_evidence(tmp_path: Path) -> None:
    judging = Judging.of(tmp_path, FILES)
    two = cart("T-2", item=2)
    result = gate(judging, cart(), two).check(judging.candidate({"cart.py": CART + "\n\nVAT = 19\n"}))
    assert not result.findings and not result.unverified
    assert len(judging.checkouts) == 1, "both owners share one command: it runs once"
    assert "2 other stories own changed files (T-1, T-2): 1 commands, 1 runs" in result.evidence[0].summary


def test_own_files_and_files_of_nobody_cost_no_run(tmp_path: Path) -> None:
    judging = Judging.of(tmp_path, FILES)
    candidate = judging.candidate({"cart.py": BROKEN})
    for owners in ((), (cart("s-1"),), (cart(files=["other.py"]),)):
        result = gate(judging, *owners).check(candidate)
        assert not result.findings and result.evidence[0].summary == NOBODY
    assert not judging.checkouts


def test_red_without_the_story_is_charged_to_nobody_and_listed_by_name(tmp_path: Path) -> None:
    judging = Judging.of(tmp_path, {**FILES, "cart.py": BROKEN})
    result = gate(judging, cart()).check(judging.candidate({"cart.py": BROKEN + "\n"}))
    assert not result.findings
    assert any("T-1" in line and "test_REQ_001_total" in line for line in result.unverified)


def test_what_cannot_be_run_has_not_passed(tmp_path: Path) -> None:
    judging = Judging.of(tmp_path, FILES)
    nothing = cart("T-2", item=2, test_command="", contracts=())
    missing = cart("T-3", item=3, test_command="no-such-program-here", contracts=())
    unread = replace(cart("T-4", item=4), spec=None)
    result = gate(judging, nothing, missing, unread).check(judging.candidate({"cart.py": BROKEN}))
    told = " ".join(result.unverified)
    assert not result.findings and all(name in told for name in ("T-2", "T-3", "T-4"))


def test_a_command_that_only_the_story_breaks_is_refused_though_no_test_is_named(tmp_path: Path) -> None:
    judging = Judging.of(tmp_path, FILES)
    exits = cart(test_command=f'{PYTHON} -c "from cart import total; raise SystemExit(total([1]) != 1)"', contracts=())
    assert verdicts(gate(judging, exits).check(judging.candidate({"cart.py": BROKEN}))) == ["regression"]


def test_a_persons_word_lets_a_neighbours_test_go(tmp_path: Path) -> None:
    judging = Judging.of(tmp_path, FILES)
    candidate = judging.candidate({"cart.py": BROKEN}, may_change=("tests/test_cart.py",))
    result = gate(judging, cart()).check(candidate)
    assert not result.findings and any("by the spec's word" in note for note in result.notes)


def test_a_neighbours_test_that_is_gone_is_lost_though_all_is_green(tmp_path: Path) -> None:
    judging = Judging.of(
        tmp_path, {**FILES, "tests/test_cart.py": TEST + "\n\ndef test_REQ_002_none():\n    assert 1\n"}
    )
    result = gate(judging, cart()).check(
        judging.candidate({"cart.py": BROKEN, "tests/test_cart.py": "def test_REQ_002_none():\n    assert 1\n"})
    )
    assert [finding.tests for finding in result.findings] == [["tests/test_cart.py::test_REQ_001_total"]]


def test_luck_refuses_nobody_and_is_named(tmp_path: Path) -> None:
    """Red, then green on one tree."""
    judging = Judging.of(tmp_path, FILES)
    flaky = "import os\n\n\ndef total(prices):\n    return sum(prices) + (os.environ.get('UNLUCKY') == '1')\n"
    made: list[Path] = []

    def prepare(checkout: Path) -> dict[str, str]:
        made.append(checkout)
        return {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "UNLUCKY": str(int(len(made) == 1))}

    judging.runner._prepare = prepare
    result = gate(judging, cart()).check(judging.candidate({"cart.py": flaky}))
    assert not result.findings and result.flaky == ["tests/test_cart.py::test_REQ_001_total"]


def test_the_blame_is_the_owners_whose_test_it_is(tmp_path: Path) -> None:
    """Both run the whole folder; only one promised what broke."""
    other = "from cart import total\n\n\ndef test_REQ_001_nothing():\n    assert total([]) == 0\n"
    judging = Judging.of(tmp_path, {**FILES, "tests/test_empty.py": other})
    all_of_it = pytest_of("tests")
    contract = TestContract("TC-1", "nothing", ContractKind.UNIT, "tests/test_empty.py")
    owners = cart(test_command=all_of_it), cart("T-2", item=2, test_command=all_of_it, contracts=(contract,))
    result = gate(judging, *owners).check(judging.candidate({"cart.py": BROKEN}))
    assert [finding.owner for finding in result.findings] == ["T-1"]


@pytest.mark.parametrize("contracts", [True, False])
def test_one_green_suite_speaks_for_many_owners(tmp_path: Path, contracts: bool) -> None:
    """By a green test of each promise: those of the contract, or of the requirements in what the command names."""
    tests = {f"tests/test_{n}.py": TEST for n in range(4)}
    judging = Judging.of(tmp_path, {"cart.py": CART, **tests})
    told = {True: lambda path: (TestContract("TC-1", "adds up", ContractKind.UNIT, path),), False: lambda _: ()}[
        contracts
    ]
    owners = [
        cart(
            f"T-{n}",
            files=["cart.py", path],
            item=n,
            test_command=pytest_of(path),
            contracts=told(path),
            requirements=(Requirement("REQ-001", "adds up"),),
        )
        for n, path in enumerate(tests)
    ]
    config = f"[test]\ncommand = '{pytest_of('tests')}'\n"
    fine = gate(judging, *owners).check(judging.candidate({"cart.py": CART + "\n\nVAT = 19\n"}, config=config))
    assert not fine.findings and len(judging.checkouts) == 1
    broken = gate(judging, *owners).check(judging.candidate({"cart.py": BROKEN}, config=config))
    assert [finding.owner for finding in broken.findings] == [one.story for one in owners]


def test_a_suite_that_leaves_a_promise_out_does_not_speak_for_it(tmp_path: Path) -> None:
    """The suite's own settings deselect the test that the contract is about; its file is green all the same."""
    slow = TEST.replace("REQ_001_total", "slow_REQ_001_total")
    both = {f"tests/test_{n}.py": slow + "\n\ndef test_quick():\n    assert total([]) == 0\n" for n in range(2)}
    judging = Judging.of(tmp_path, {"cart.py": CART, **both})
    owners = [
        cart(
            f"T-{n}",
            files=["cart.py"],
            item=n,
            test_command=pytest_of(path),
            contracts=(TestContract("TC-1", "adds up", ContractKind.UNIT, path),),
        )
        for n, path in enumerate(both)
    ]
    config = f"[test]\ncommand = '{pytest_of('tests')} -k quick'\n"
    result = gate(judging, *owners).check(judging.candidate({"cart.py": BROKEN}, config=config))
    assert [finding.owner for finding in result.findings] == ["T-0", "T-1"]


def test_a_change_of_dependencies_concerns_every_owner(tmp_path: Path) -> None:
    judging = Judging.of(tmp_path, {**FILES, "pyproject.toml": ""})
    candidate = judging.candidate({"pyproject.toml": "[tool.pytest.ini_options]\npython_functions = 'nothing*'\n"})
    assert not gate(judging, cart()).check(candidate).findings
    assert verdicts(gate(judging, cart()).check(replace(candidate, every_owner=True))) == ["regression"]


def test_where_owners_are_not_at_hand_nothing_is_called_compared(tmp_path: Path) -> None:
    judging = Judging.of(tmp_path, FILES)
    result = Impact(judging.runner, judging.mirror, NoOwners()).check(judging.candidate({"cart.py": BROKEN}))
    assert not result.findings and len(result.unverified) == 1 and "nothing was compared" in result.unverified[0]


# ── what a story is built on ──────────────────────────────────────────────────────────────────────────

CHECK = "checks/cart_check.py"
PROMISED = {
    "prices.py": "VAT = 19\n",
    CHECK: "from prices import VAT\n\n\ndef test_REQ_001_vat():\n    assert VAT == 19\n",
}
SUITE = f"[test]\ncommand = '{pytest_of('tests')}'\n"


def checked(story: str = "T-1", item: int = 1, command: str = pytest_of(CHECK)) -> Owner:
    contract = TestContract("TC-1", "has VAT", ContractKind.UNIT, CHECK, command)
    return owner(story, (), item, contracts=(contract,), test_command=command)


def of_kin(judging: Judging, *kin: Owner) -> Impact:
    return Impact(judging.runner, judging.mirror, KnownOwners([], kin))


@pytest.mark.req("A7.1")
def test_what_a_story_is_built_on_may_not_break_though_it_owns_nothing_of_what_changed(tmp_path: Path) -> None:
    """Its check lies where the project's suite collects nothing."""
    judging = Judging.of(tmp_path, FILES | PROMISED)
    for place, command in enumerate(
        (pytest_of(CHECK), f"PYTHONPATH=. {PYTHON} -c 'import prices; 19/(prices.VAT==19)'")
    ):
        broken = judging.candidate({"prices.py": "VAT = 7\n"}, config=SUITE)
        result = of_kin(judging, checked(command=command)).check(broken)
        assert verdicts(result) == ["regression"] and result.findings[0].owner == "T-1"
        named = f"TC-1 {CHECK}::test_REQ_001_vat" if place == 0 else f"TC-1 {CHECK} `{command}`"
        assert named in result.findings[0].message
        assert "One of the two is built on the other" in result.findings[0].message
    kept = of_kin(judging, checked()).check(judging.candidate({"prices.py": "VAT = 20 - 1\n"}, config=SUITE))
    assert not kept.findings and "1 that it builds on or that build on it (T-1)" in kept.evidence[0].summary


def test_what_the_suite_shows_green_needs_no_command(tmp_path: Path) -> None:
    judging = Judging.of(tmp_path, FILES | {"prices.py": "VAT = 19\n"})
    contract = TestContract("TC-1", "adds up", ContractKind.UNIT, "tests/test_cart.py", "exit 9")
    seen = owner("T-1", (), contracts=(contract,))
    result = of_kin(judging, seen).check(judging.candidate({"prices.py": "VAT = 7\n"}, config=SUITE))
    assert not result.findings and not result.unverified
    assert [one.command for one in result.evidence if one.command] == [pytest_of("tests")]


def test_commands_of_kin_are_bounded_and_the_rest_is_told(tmp_path: Path) -> None:
    judging = Judging.of(tmp_path, FILES | PROMISED)
    kin = [checked(f"T-{n}", n, f"test {n} -gt 0") for n in range(1, MOST_OF_KIN + 3)]
    twice = checked("T-99", 99, "test 1 -gt 0")
    result = of_kin(judging, *kin, twice).check(judging.candidate({"prices.py": "VAT = 7\n"}))
    assert sum(one.command.startswith("test ") for one in result.evidence) == MOST_OF_KIN
    (told,) = [one for one in result.unverified if "not run" in one]
    assert "2 more commands of stories that it builds on" in told and f"T-{MOST_OF_KIN + 2}" in told
