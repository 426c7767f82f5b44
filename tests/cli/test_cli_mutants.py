"""A story whose mutants live: it goes back with each of them; who calls them equivalent says why, and that is kept."""

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Cli
from tests.yard import CONFIG, NO_PYTEST_CACHE, Yard, python, story

SUITE = f"PYTEST_DISABLE_PLUGIN_AUTOLOAD=1 {python()} -m pytest -q {NO_PYTEST_CACHE} tests"
WRITES = """
pathlib.Path("m.py").write_text("def first(n):\\n    if n >= 5:\\n        return 'big'\\n    return 'small'\\n")
pathlib.Path("tests/test_m.py").write_text(
    "from m import first\\n\\n\\ndef test_REQ_001():\\n    assert (first(9), first(1)) == ('big', 'small')\\n")
"""
REPAIRS = """
if brief["feedback"]:
    assert "m.py:2 `n >= 5`" in brief["feedback"]["message"], brief["feedback"]
    assert {one["line"] for one in brief["feedback"]["survivors"]} == {2}
    test = pathlib.Path("tests/test_m.py")
    test.write_text(test.read_text() + "    assert (first(5), first(4)) == ('big', 'small')\\n")
    sys.exit(0)
"""


@pytest.fixture
def yard(tmp_path: Path, database_url: str, monkeypatch: pytest.MonkeyPatch) -> Yard:
    made = Yard(tmp_path, database_url, config=CONFIG.replace('"off"', '"full"'))
    for name, value in made.environ.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(made.repo)
    return made


def add(yard: Yard, budget: int = 5) -> None:
    yard.add(story("S-1", scope=["m.py", "tests/"], command=SUITE), budget=budget)


def number(yard: Yard) -> str:
    [row] = yard.query("SELECT id FROM human_issues WHERE closed_at IS NULL")
    return str(row["id"])


@pytest.mark.req("F5.1", "F10.3")
def test_survivors_go_back_and_a_test_that_kills_them_lands(yard: Yard) -> None:
    add(yard)
    yard.work(yard.agent(REPAIRS + WRITES))
    item = yard.item("S-1")

    assert (item["phase"], item["attempts"]) == ("done", 1), yard.questions()
    [event] = yard.events("S-1", "attempt.rejected")
    assert event["body"]["verdict"] == "mutant_survived"


@pytest.mark.req("F10.3", "W8")
def test_a_person_calls_them_equivalent_with_a_reason_and_the_same_is_never_asked_twice(
    yard: Yard, command: Cli
) -> None:
    add(yard, budget=1)
    agent = yard.agent(WRITES)
    yard.work(agent)
    item = yard.item("S-1")
    assert (item["phase"], item["last_verdict"]) == ("blocked", "mutant_survived"), item
    assert item["last_feedback"]["requirements"] == ["REQ-001"]
    receipt = json.loads(command("receipt", "S-1", "--evidence").out)["mutants"]
    assert receipt["partial"]["REQ-001"][0].startswith("m.py:2 ") and receipt["equivalent"] == []

    asked = command("inbox").out
    assert "S-1 is blocked after 1 of 1 tries" in asked and "Surviving mutants" not in asked
    assert "-    if n >= 5:\n" in asked and "+    if n > 5:\n" in asked and "the mutants change nothing" in asked
    refused = command("answer", number(yard), "all_equivalent")
    assert refused.code == 2 and "needs your words" in refused.err
    said = command("answer", number(yard), "all_equivalent five is never asked for")
    assert said.code == 0 and "goes on in phase build where it was" in said.out
    yard.work(agent)

    assert yard.item("S-1")["phase"] == "done", yard.questions()
    assert len(yard.query("SELECT id FROM human_issues")) == 1
    told = json.loads(command("receipt", "S-1", "--evidence").out)["mutants"]
    assert {one["a person's word"] for one in told["equivalent"]} == {"five is never asked for"}
    assert (told["partial"], told["survivors"]) == ({}, []) and "survived" in told["told"]


@pytest.mark.req("F10.3", "W8")
def test_a_person_calls_some_of_them_equivalent_and_the_others_go_back(yard: Yard, command: Cli) -> None:
    add(yard, budget=1)
    agent = yard.agent(WRITES)
    yard.work(agent)
    first = number(yard)
    asked = command("inbox").out
    assert "1. m.py:2 `n >= 5`" in asked and "2. m.py:2 " in asked and "some of the mutants change nothing" in asked
    for words in ("some_equivalent", "some_equivalent 99 why", "some_equivalent 1", "some_equivalent because"):
        refused = command("answer", first, *words.split())
        assert refused.code == 2 and "some_equivalent 2,3" in refused.err, refused
    everywhere = command("answer", "--all", "some_equivalent", "1", "why")
    assert everywhere.code == 2 and "one question" in everywhere.err

    said = command("answer", first, "some_equivalent 1 five is never asked for")
    assert said.code == 0 and "goes on in phase build with a new budget" in said.out
    yard.work(agent)
    assert yard.item("S-1")["last_verdict"] == "mutant_survived"
    assert number(yard) != first and "`n >= 5` → `n > 5`" not in command("inbox").out

    assert command("answer", number(yard), "all_equivalent the rest is a habit").code == 0
    yard.work(agent)
    told = json.loads(command("receipt", "S-1", "--evidence").out)["mutants"]
    words = {one["operator"]: one["a person's word"] for one in told["equivalent"]}
    assert yard.item("S-1")["phase"] == "done" and words.pop("`n >= 5` → `n > 5`") == "five is never asked for"
    assert set(words.values()) == {"the rest is a habit"} and (told["partial"], told["survivors"]) == ({}, [])
