"""Each folder of examples/ works: what its README tells one to type is typed, with the real command."""

import json
from pathlib import Path

import pytest

from tests.examples.example import EXAMPLES, LANDED, Example

NAMES = sorted(folder.name for folder in EXAMPLES.iterdir() if folder.is_dir())
READ = {"observability": "tests/web/test_metrics.py", "team": "tests/people/test_service.py"}
"""What is copied and never typed here, with the test that reads it."""


@pytest.mark.req("T1")
@pytest.mark.parametrize("example", ["command-agent"], indirect=True)
def test_command_agent_lands_and_its_outage_costs_no_try(example: Example) -> None:
    told = example.follow_readme()
    assert LANDED.findall(told) == ["GREET-1"] == example.landed_in_readme
    assert "provider is unavailable (exit 75) (not counted)" in told
    story = example.json("show", "GREET-1", "--json")
    assert (story["phase"], story["attempts"], story["claims"]) == ("done", 0, 2)
    assert f"in {len((example.folder / 'agent').read_text().splitlines())} lines" in example.readme


@pytest.mark.req("X1")
@pytest.mark.parametrize("example", ["acceptance"], indirect=True)
def test_acceptance_stops_the_first_try_and_names_only_the_requirement(example: Example) -> None:
    assert LANDED.findall(example.follow_readme()) == ["VAT-1"] == example.landed_in_readme
    story = example.json("show", "VAT-1", "--json", below="project")
    assert (story["phase"], story["attempts"]) == ("done", 1)
    events = example.json_lines("events", "VAT-1", "--json", below="project")
    [rejected] = [event["body"] for event in events if event["kind"] == "attempt.rejected"]
    assert rejected["verdict"] == "acceptance_failed"
    assert rejected["message"] in example.readme
    assert "rounds_up" not in json.dumps(story["steps"])


def test_every_example_is_run_by_a_test_here() -> None:
    here = "".join(path.read_text(encoding="utf-8") for path in Path(__file__).parent.glob("test_*.py"))
    assert NAMES and all(f'["{name}"], indirect=True' in here for name in NAMES if name not in READ)
    assert all(name in (EXAMPLES.parent / READ[name]).read_text(encoding="utf-8") for name in READ)
