"""A task that passes its own tests and breaks a neighbour's is refused, with the neighbour named (A7)."""

import json
from pathlib import Path
from typing import Any

import pytest

from damascus.domain.ports import GateName
from damascus.store import owners
from damascus.store.receipts import evidence
from tests.engine.shell_stories import Watched
from tests.yard import Yard, story

pytestmark = pytest.mark.req("A7.1")

CONTRACT = (
    "\n## Test Contract\n| TC | Behaviour | Kind | Test file |\n|---|---|---|---|\n| TC-1 | adds up | unit | {} |\n"
)
CART = "def total(prices):\n    return sum(prices)\n"
TOTAL = "from cart import total\n\n\ndef test_REQ_001_total():\n    assert total([1, 2]) == 3\n"
VAT = "from cart import vat\n\n\ndef test_REQ_001_vat():\n    assert vat(100) == 19\n"
GOOD = CART + "\n\ndef vat(price):\n    return price * 19 // 100\n"
BREAKS = GOOD.replace("sum(prices)", "119 * sum(prices)")


def task(name: str, test: str, **front: Any) -> str:
    return story(name, scope=["cart.py", test], **front) + CONTRACT.format(test)


@pytest.fixture
def yard(tmp_path: Path, database_url: str) -> Yard:
    yard = Yard(tmp_path, database_url)
    yard.add(task("TASK-1", "tests/test_cart.py"))
    yard.work(Watched(yard, {"TASK-1": [{"write": {"cart.py": CART, "tests/test_cart.py": TOTAL}}]}))
    assert yard.item("TASK-1")["phase"] == "done", yard.questions()
    return yard


def write(cart: str) -> dict[str, Any]:
    return {"write": {"cart.py": cart, "tests/test_vat.py": VAT}}


def test_a_task_that_breaks_a_neighbour_is_refused_with_the_neighbour_named_then_lands(yard: Yard) -> None:
    yard.add(task("TASK-2", "tests/test_vat.py"))
    agent = Watched(yard, {"TASK-2": [write(BREAKS), write(GOOD)]})
    yard.work(agent)
    assert yard.item("TASK-2")["phase"] == "done", yard.questions()
    [event] = yard.events("TASK-2", "attempt.rejected")
    assert event["body"]["verdict"] == "regression"
    told = json.dumps(agent.given[-1][0].model_dump(mode="json"))
    assert "TASK-1 is broken: TC-1 tests/test_cart.py::test_REQ_001_total" in told
    assert owners.map_of(yard.db, yard.row.repo_id) == [
        ("cart.py", ["TASK-1", "TASK-2"]),
        ("tests/test_cart.py", ["TASK-1"]),
        ("tests/test_vat.py", ["TASK-2"]),
    ]


def test_rule_7_the_change_impact_check_runs_after_every_task(yard: Yard) -> None:
    """A rule of the source's builder by its name: whoever landed was checked, also where nobody else was concerned."""
    yard.add(task("TASK-2", "tests/test_vat.py"))
    yard.work(Watched(yard, {"TASK-2": [write(GOOD)]}))
    said = {name: _impact(yard, name) for name in ("TASK-1", "TASK-2")}
    assert set(said["TASK-1"]) == {"no other story owns a changed file"}
    assert all("1 other story owns changed files (TASK-1)" in line for line in said["TASK-2"])


def _impact(yard: Yard, name: str) -> list[str]:
    """What the gate said, each time that the candidate was judged: never nothing."""
    said = [gate for gate in evidence(yard.db, yard.row, name)["gates"] if gate["gate"] == GateName.IMPACT]
    assert said and {gate["commit"] for gate in said} == {yard.item(name)["merged_commit"]}
    return [gate["evidence"][0]["summary"] for gate in said]
