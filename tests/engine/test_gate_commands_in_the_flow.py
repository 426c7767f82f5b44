"""A story whose project has a linter: sent back with its words, then landed, and its receipt says what judged it."""

import json
from pathlib import Path

import pytest

from damascus.lab.ground import python
from damascus.store.receipts import evidence
from tests.yard import CONFIG, HONEST, Yard, story

pytestmark = pytest.mark.req("A6", "A17")

SETTINGS = CONFIG + f"[workspace]\nsetup = {json.dumps(f'test -x {python()}')}\n"
RUFF = '[lint]\nselect = ["F"]\n'
FIRST_UNUSED = HONEST + (
    "if brief['attempt'] == 1:\n"
    "    with open(f'{name}.py', 'a') as file:\n        file.write('\\nimport os\\n')\n"
    "else:\n    assert 'unused' in json.dumps(brief), 'it is told what the linter said'\n"
)


@pytest.mark.req("D13")
def test_a_linter_that_main_configures_sends_back_and_stands_on_the_receipt(tmp_path: Path, database_url: str) -> None:
    yard = Yard(tmp_path, database_url)
    yard.commit({"ruff.toml": RUFF, "damascus.toml": SETTINGS}, "linted")
    yard.add(story("S-1"))
    yard.work(yard.agent(FIRST_UNUSED))
    assert yard.item("S-1")["phase"] == "done", yard.questions()
    assert [event["body"].get("verdict") for event in yard.events("S-1") if event["body"].get("verdict")] == [
        "command_failed"
    ]
    told = evidence(yard.db, yard.row, "S-1")
    assert "ruff check ." in str(told) and "found from main's files" in str(told)
    assert not any(name.startswith("lint") for name in told["unverified"])


def test_what_is_red_on_main_lands_and_is_listed(tmp_path: Path, database_url: str) -> None:
    yard = Yard(tmp_path, database_url)
    yard.commit({"ruff.toml": RUFF, "damascus.toml": SETTINGS, "old.py": "import os\n"}, "linted, and red")
    yard.add(story("S-1"))
    yard.work(yard.agent(HONEST))
    assert yard.item("S-1")["phase"] == "done", yard.questions()
    (listed,) = [name for name in evidence(yard.db, yard.row, "S-1")["unverified"] if name.startswith("lint")]
    assert "is red on main too" in listed
