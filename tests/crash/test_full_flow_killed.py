"""kill -9 at every journal boundary of a build in profile `full`, also in a later round: no finished agent runs again.

The cases are derived from the flow's own table of steps. The critics' answers depend on the files alone, so that a
story that is taken up again goes the same way.
"""

from collections import Counter
from typing import Any

import pytest

from damascus.engine.lifecycle import FULL
from damascus.engine.phases.review import BY_OTHERS
from damascus.engine.step import Step
from tests.crash.boundaries import points
from tests.crash.conftest import Fields
from tests.crash.field import AGENTS_IN_FULL, Field
from tests.crash.invariants import check_invariants, check_landed_once
from tests.crash.worker_process import Act

TWICE = {"author_tests", "critique_tests", "mutate"}
"""In this story the tests are sent back once, and the mutants are run again after the fixer."""
TAKEN = (*FULL, *BY_OTHERS)
CASES = [
    (step, point, nth) for step in TAKEN for point in points(step) for nth in ((1, 2) if step.name in TWICE else (1,))
]


@pytest.fixture
def field(fields: Fields) -> Field:
    made = fields(more='[flow]\nprofile = "full"\n', script=AGENTS_IN_FULL)
    made.add("S-1", scope=["S-1.sh", "tests/test_S-1.sh", "docs/S-1.md"])
    return made


def sent_and_done(field: Field) -> tuple[Counter[str], Counter[str]]:
    sent = Counter(line.split()[1] for line in field.agents_told().splitlines() if line.startswith("start "))
    rows = field.yard.query("SELECT input ->> 'role' AS role FROM journal WHERE status = 'done' AND input ? 'role'")
    return sent, Counter(row["role"] for row in rows)


@pytest.mark.req("D20", "D21", "F4")
@pytest.mark.parametrize(("step", "point", "nth"), CASES, ids=[f"{s.name}-{p}-{n}" for s, p, n in CASES])
def test_killed_at_a_boundary_of_the_flow(field: Field, step: Step[Any], point: str, nth: int) -> None:
    dead = field.killed(Act(f"{step.name}:{point}", nth=nth))
    assert dead.moments("kill") == [f"{step.name}:{point} {nth}"]
    field.finish()

    check_landed_once(field, "S-1")
    check_invariants(field)
    sent, done = sent_and_done(field)
    lost = Counter({step.role: 1} if point == "after_effect" else {})
    assert sent == done + lost, "an agent step that was done ran again"
    assert field.yard.query("SELECT DISTINCT run_no FROM journal WHERE phase = 'build'") == [{"run_no": 1}]
    kept = field.yard.query("SELECT name, count(*) AS n FROM artifacts GROUP BY name")
    versions = {row["name"]: row["n"] for row in kept}
    assert versions["build/test_critique.md"] == done["test-critic"], "each round once"
    assert versions["build/code_critique.md"] == versions["build/self_review.md"] == 1


@pytest.mark.req("D20")
def test_a_story_of_this_field_meets_every_boundary_of_the_flow(field: Field) -> None:
    met = set(field.finish().moments())
    assert {f"{step.name}:{point}" for step, point, _ in CASES} <= met
    sent, done = sent_and_done(field)
    assert sent == done and sent["test-critic"] == 2 and sent["fixer"] == 1
