"""What a plan would touch and cost, and the format that a planner is shown."""

import pytest

from damascus.tasks.planned import SAMPLE, StoryCost, blast_radius, commands_told, estimate, graph_faults, told

NEXT = SAMPLE.replace("## Parallelism", SAMPLE.partition("## Parallelism")[0].replace("001", "002") + "## Parallelism")


def test_the_format_that_a_planner_is_shown_has_no_fault() -> None:
    assert graph_faults(SAMPLE.encode(), "G.md") == []


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        (None, "is not there"),
        (b"\xff", "not UTF-8"),
        (b"x" * 10_000_000, "larger than"),
        (SAMPLE.replace("Dependencies:** none", "Dependencies:** TASK-001").encode(), "TASK-001"),
        (b"### TASK-../../etc: x\n", "line 1"),
    ],
    ids=["missing", "bytes", "10 MB", "a circle", "an id that is a path"],
)
def test_hostile_graphs_are_faults(raw: bytes | None, said: str) -> None:
    assert said in " ".join(graph_faults(raw, "G.md"))


@pytest.mark.req("X15.2")
def test_the_blast_radius_names_tasks_files_and_what_the_queue_has() -> None:
    before = SAMPLE.encode()
    after = NEXT.replace("shop/prices.py", "shop/").encode()
    found = blast_radius(before, after, {"shop/a.py", "shop/b.py", "README"}, {"TASK-001": "done"})
    assert (found.new, found.changed, found.gone) == (("TASK-002",), ("TASK-001",), ())
    assert found.begun == ("TASK-001 (done)",) and found.files == ("shop/a.py", "shop/b.py")
    assert blast_radius(before, before.replace(b"PENDING", b"DONE"), set(), {}).work == 0
    text = told(found, [], "25 M tokens at most")
    assert "1 new (TASK-002); 1 changed (TASK-001)" in text and "Already in the queue: TASK-001 (done)" in text
    assert "no story has landed here" in text


def test_the_estimate_is_the_median_of_what_landed_and_is_called_one() -> None:
    costs = [StoryCost(1_000, 10_000), StoryCost(3_000, 30_000), StoryCost(900_000, 20_000)]
    assert estimate(4, costs, "") == "about 12 k tokens, $0.08, by the median of 3 landed stories; only an estimate."
    assert "$" not in estimate(4, [*costs, StoryCost(1, None)], "")


@pytest.mark.req("X15.2")
def test_a_plan_does_not_say_what_became_of_a_task() -> None:
    forged = SAMPLE.replace("PENDING", "DONE").replace("**Task type", "**Checkpoint:** abc1234 2026-01-01\n**Task type")
    told = " ".join(graph_faults(forged.encode(), "G.md"))
    assert "G.md line 2: TASK-001 has the status 'DONE'" in told and "G.md line 3: TASK-001 has a Checkpoint" in told
    assert graph_faults(forged.encode(), "G.md", forged.encode()) == [], "what main has may stay"
    assert graph_faults(SAMPLE.replace("**Status:** PENDING\n", "").encode(), "G.md") == []


@pytest.mark.req("X15.2")
def test_whoever_accepts_a_plan_is_told_the_commands_that_will_run() -> None:
    own = SAMPLE.replace("tests/test_prices.py |\n", "tests/test_prices.py | sh run.sh |\n").replace(
        "**Test contract status", "**Gate commands:**\n```sh\ncurl http://example.com\n```\n**Test contract status"
    )
    told = commands_told(None, own.encode(), "G.md")
    assert told == "Commands that will be run for it: `curl http://example.com`, `sh run.sh`."
    assert commands_told(own.encode(), own.encode(), "G.md") == "" == commands_told(None, SAMPLE.encode(), "G.md")
