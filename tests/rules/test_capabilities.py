"""docs/capabilities.md names every id that code, tests and documents name, and is what its sources say."""

import json
import os
import subprocess
import sys

import pytest

from tests.rules.test_traceability import DELIVERED
from tests.rules.tree import ROOT, document
from tools import capabilities as tool

EVERY = tool.capabilities()


def test_the_page_is_made_from_its_sentences_and_the_markers() -> None:
    assert document("docs/capabilities.md") == tool.page(EVERY), "run tools/capabilities --write"


def test_every_id_that_is_named_anywhere_has_its_sentence() -> None:
    known = {*EVERY, *(f"{one.id}.{n}" for one in EVERY.values() for n in range(1, len(one.says) + 1))}
    assert {name: sorted(files)[:3] for name, files in tool.named_anywhere().items() if name not in known} == {}


def test_an_id_is_whole_or_in_part_only_with_a_test() -> None:
    assert {one.id for one in EVERY.values() if one.begun} == DELIVERED
    assert [one.id for one in EVERY.values() if one.begun and not one.tests()] == []


def test_what_is_missing_is_of_a_clause_that_is_there() -> None:
    wrong = [
        f"{one.id}.{number}"
        for one in EVERY.values()
        for number, why in one.missing.items()
        if not why.endswith(".") or (number != "all" and int(number) not in range(1, len(one.says) + 1))
    ]
    assert wrong == []
    assert [one.id for one in EVERY.values() if not one.says or not all(s.endswith(".") for s in one.says)] == []


@pytest.mark.parametrize(
    ("source", "named"),
    [
        ('@pytest.mark.req("W7", "W7.2")\ndef test_a(): ...', {"test_a": ["W7", "W7.2"]}),
        ('pytestmark = pytest.mark.req("D1")\ndef test_a(): ...\ndef b(): ...', {"test_a": ["D1"]}),
        ('pytestmark = [pytest.mark.slow, pytest.mark.req("D1")]\ndef test_a(): ...', {"test_a": ["D1"]}),
        ('@pytest.mark.req("D1")\nclass TestA:\n    def test_b(self): ...', {"TestA::test_b": ["D1"]}),
    ],
)
def test_a_marker_is_seen_wherever_it_stands(source: str, named: dict[str, list[str]]) -> None:
    assert tool.marked(source) == named


def test_the_tool_tells_clauses_and_tests_by_name() -> None:
    def run(*args: str) -> str:
        command = [ROOT / "tools" / "capabilities", *args]
        env = {**os.environ, "PYTHON": sys.executable}
        return subprocess.run(command, env=env, capture_output=True, text=True, check=True, timeout=120).stdout

    [told] = json.loads(run("--json", "D7"))
    assert told["id"] == "D7" and told["proofs"]
    assert "::test_" in run("D7") and "**D7.1**" in run("D7")
