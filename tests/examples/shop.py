"""What examples/shop is once it is built: everything that a person could look at, whoever was killed on the way."""

import json
import re
from collections import Counter

from damascus.tasks.statuses import statuses_in
from tests.engine.task_yard import neutral
from tests.examples.example import EXAMPLES, Example

PROJECT = "project"
GRAPH = "TASK-GRAPH.md"
CONTRACTS = {
    "TASK-001": "TC: 3/3 pass (2 unit, 1 integration)",
    "TASK-002": "TC: 2/2 pass (2 unit)",
    "TASK-003": "TC: 3/3 pass (2 unit, 1 integration)",
    "TASK-004": "TC: 3/3 pass (1 unit, 2 integration)",
    "TASK-005": "TC: 3/3 pass (2 unit, 1 integration)",
    "TASK-006": "TC: 3/3 pass (2 unit, 1 integration)",
    "TASK-007": "TC: 2/2 pass (1 unit, 1 integration)",
    "TASK-008": "",
}
TASKS = list(CONTRACTS)
NEEDS = {"TASK-003": ["TASK-001"], "TASK-004": ["TASK-002", "TASK-003"], "TASK-005": ["TASK-004"]} | {
    "TASK-008": ["TASK-005", "TASK-007"]
}
CHECKPOINT_LINE = re.compile(r"^\*\*Checkpoint:\*\* ([0-9a-f]{7,40}) ", re.MULTILINE)
SUITES = "python3 -m unittest discover -s tests -t . 2>&1 && node --test --test-reporter=tap"


def check_built(example: Example) -> None:
    every_task_is_done_and_landed_once(example)
    the_graph_has_our_words_and_yours(example)
    checkpoints_tell_what_was_proved(example)
    owners_are_by_gits_word(example)
    both_suites_of_main_are_green(example)
    nothing_that_was_kept_is_lost(example)


def every_task_is_done_and_landed_once(example: Example) -> None:
    told = example.json("tasks status --json", below=PROJECT)["tasks"]
    assert {one["story_id"]: (one["status"], one["tc"]) for one in told} == {
        name: ("DONE", line) for name, line in CONTRACTS.items()
    }
    events = example.json_lines("events --json --limit 10000", below=PROJECT)
    landed = [event["story_id"] for event in events if event["kind"] == "story.landed"]
    assert Counter(landed) == Counter(TASKS), "each exactly once"
    assert all(landed.index(need) < landed.index(name) for name, needs in NEEDS.items() for need in needs)
    commits = example.run("git log --format='%(trailers:key=Damascus-Item,valueonly)' main", PROJECT).split()
    assert len(commits) == len(set(commits)) == len(TASKS), "one commit of each on main"


def the_graph_has_our_words_and_yours(example: Example) -> None:
    raw = (example.folder / PROJECT / GRAPH).read_bytes()
    assert statuses_in(raw) == dict.fromkeys(TASKS, "DONE")
    assert neutral(raw) == neutral((EXAMPLES / "shop" / PROJECT / GRAPH).read_bytes())
    found = CHECKPOINT_LINE.findall(raw.decode())
    assert len(found) == len(TASKS)
    example.run("\n".join(f"git merge-base --is-ancestor {commit} main" for commit in found), PROJECT)


def checkpoints_tell_what_was_proved(example: Example) -> None:
    told = (example.folder / PROJECT / "CHECKPOINT.md").read_text()
    blocks = {each.split(":")[0]: each for each in told.split("--- Task ")[1:]}
    assert sorted(blocks) == [str(number) for number in range(1, len(TASKS) + 1)], "each once"
    for number, line in enumerate(CONTRACTS.values(), 1):
        assert "— DONE ✅" in blocks[str(number)] and line in blocks[str(number)]
    assert "Contracts: ✅" in blocks["1"] and "Contracts: ✅" in blocks["5"]
    assert "Patterns applied: PATTERN-002" in blocks["1"] and "Patterns applied: PATTERN-001" in blocks["2"]
    shared = blocks["6"] if told.index("--- Task 6") > told.index("--- Task 7") else blocks["7"]
    assert "Regression: ✅ no cross-task failures" in shared, "the other's tests ran on the second one's candidate"
    assert re.findall(r"^=== Checkpoint (\d+): (\d+) tasks DONE", told, re.MULTILINE) == [("1", "4"), ("2", "8")]


def owners_are_by_gits_word(example: Example) -> None:
    told = (example.folder / PROJECT / "FILE_OWNERSHIP_MAP.md").read_text()
    owners = dict(re.findall(r"^\| ([a-z]\S+) \| (.+) \|$", told, re.MULTILINE))
    assert owners["web/index.js"].split(", ") in (["TASK-006", "TASK-007"], ["TASK-007", "TASK-006"])
    assert owners["shop/prices.py"] == "TASK-002" and owners["docs/shop.md"] == "TASK-008"


def both_suites_of_main_are_green(example: Example) -> None:
    """In a clone of main alone."""
    told = example.run(f"git clone -q {PROJECT} main && cd main && {SUITES}")
    assert "Ran 15 tests" in told and "\n# pass 6\n" in told and "\n# fail 0\n" in told


def nothing_that_was_kept_is_lost(example: Example) -> None:
    """Every snapshot of each task's chain, without a gap, can be had from the store of stories."""
    [store] = (example.folder.parent / "home").glob("projects/*/stories.git")
    for name in TASKS:
        kept = json.loads(example.run(f"damascus rescue list {name} --json", PROJECT))["snapshots"]
        assert sorted(one["n"] for one in kept) == list(range(1, len(kept) + 1))
        for one in kept:
            example.run(f"git --git-dir {store} cat-file -e {one['commit']}^{{tree}}")
