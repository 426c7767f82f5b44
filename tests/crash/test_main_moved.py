"""Main moves under a story about to land: phase merge rebases, judges, pushes and lands again. Killed there too.

The second push, proposal and CI run are effects of phase merge, with boundaries of their own.
"""

from collections import Counter

import pytest

from tests.crash.boundaries import named, points
from tests.crash.field import Field
from tests.crash.invariants import check_invariants
from tests.crash.worker_process import Act

MOVED = Act("land:before_intent", "person")
AGAIN = ("rebase", "verify", "push", "propose", "ci", "land")
CASES = [(step, point) for step in AGAIN for point in points(named(step))]


@pytest.mark.req("D20", "F14")
def test_a_story_lands_on_top_of_a_commit_that_came_meanwhile(field: Field) -> None:
    field.add("S-1")
    field.start(MOVED).end()
    check_landed_on_top(field)


@pytest.mark.req("D20", "F14")
@pytest.mark.parametrize(("step", "point"), CASES, ids=[f"{step}-{point}" for step, point in CASES])
def test_killed_while_it_is_brought_up_to_date(field: Field, step: str, point: str) -> None:
    field.add("S-1")

    dead = field.killed(MOVED, Act(f"{step}:{point}", nth=2))
    assert dead.moments("kill") == [f"{step}:{point} 2"]
    field.finish()

    check_landed_on_top(field)


def check_landed_on_top(field: Field) -> None:
    item = field.yard.item("S-1")
    assert item["phase"] == "done", (field.yard.questions(), item["last_feedback"])
    assert item["attempts"] == 0
    assert field.yard.subjects()[:2] == ["feat: Story S-1", "a person's commit"]
    told = Counter(event["kind"] for event in field.yard.events("S-1"))
    assert (told["build.committed"], told["build.pushed"], told["ci.finished"]) == (1, 2, 2)
    assert field.agent_lines("start") == 1
    check_invariants(field)
