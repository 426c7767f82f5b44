"""kill -9 at every journal boundary of a plan, also in a later round: no agent that was done runs again, the same graph
comes out, and nothing is queued or lands before a person's word.

The planner goes by what it is told, the critic by the file: first a circle, which `tasks check` sends back, then a
graph that the critic sends back once.
"""

import json
from typing import Any

import pytest

from damascus.engine.flow.planning import CHECK_PLAN, CRITIQUE_PLAN, WRITE_PLAN
from damascus.engine.step import Step
from damascus.people import planning, stories
from damascus.people.acts import Actor
from damascus.tasks.planned import SAMPLE
from tests.crash.boundaries import points
from tests.crash.conftest import Fields
from tests.crash.field import Field
from tests.crash.invariants import check_invariants
from tests.crash.worker_process import Act

GRAPH = "TASK-GRAPH.md"
CIRCLE = SAMPLE.replace("**Dependencies:** none", "**Dependencies:** TASK-001")
BETTER = SAMPLE.replace("Prices of the shop", "Prices with tax")
PLANNERS = """\
echo "start $DAMASCUS_ROLE" >> $HOME/agent.log
status=VERIFIED helps=false concerns=
case $DAMASCUS_ROLE in
planner)
    if grep "charges tax" "$DAMASCUS_BRIEF" > /dev/null; then cp $1/better TASK-GRAPH.md
    elif grep "be worked off" "$DAMASCUS_BRIEF" > /dev/null; then cp $1/sample TASK-GRAPH.md
    else cp $1/circle TASK-GRAPH.md; fi ;;
plan-critic)
    grep "with tax" TASK-GRAPH.md > /dev/null || { status=UNVERIFIED helps=true concerns='"nothing charges tax"'; } ;;
esac
printf '{"status": "%s", "can_further_iteration_help": %s, "summary": "read", "concerns": [%s]}' \\
    $status $helps "$concerns" > $DAMASCUS_REPORT
"""
ROUNDS = {"write_plan": (1, 2, 3), "check_plan": (1, 2, 3), "critique_plan": (1, 2)}
STEPS = (WRITE_PLAN, CHECK_PLAN, CRITIQUE_PLAN)
CASES = [(step, point, nth) for step in STEPS for point in points(step) for nth in ROUNDS[step.name]]


@pytest.fixture
def field(fields: Fields) -> Field:
    made = fields(script=PLANNERS)
    for name, text in (("circle", CIRCLE), ("sample", SAMPLE), ("better", BETTER)):
        (made.signs / name).write_text(text)
    (made.folder / "IDEA.md").write_text("# A shop\n\nIt sells things.\n")
    planning.plan(made.yard.db, made.yard.project, str(made.folder / "IDEA.md"))
    return made


def rounds(field: Field) -> dict[str, int]:
    rows = field.yard.query("SELECT step, count(*) AS n FROM journal WHERE status = 'done' GROUP BY step")
    done = {row["step"]: row["n"] for row in rows}
    return {step.name: done.get(step.name, 0) for step in STEPS}


@pytest.mark.req("D20", "X15.2")
@pytest.mark.parametrize(("step", "point", "nth"), CASES, ids=[f"{s.name}-{p}-{n}" for s, p, n in CASES])
def test_killed_at_a_boundary_of_a_plan(field: Field, step: Step[Any], point: str, nth: int) -> None:
    field.killed(Act(f"{step.name}:{point}", nth=nth))
    field.finish()

    assert rounds(field) == {name: len(each) for name, each in ROUNDS.items()}, "each round once"
    lost = point == "after_effect"
    for one in (WRITE_PLAN, CRITIQUE_PLAN):
        again = lost and one is step
        assert field.agent_lines("start", str(one.role)) == len(ROUNDS[one.name]) + again, one.name
    assert field.yard.item("PLAN-1")["phase"] == "blocked" and "Shall it land?" in field.yard.questions()[0]
    assert [row["story_id"] for row in field.yard.query("SELECT story_id FROM work_items")] == ["PLAN-1"]
    assert field.yard.on_main(GRAPH) is None, "nothing before a person's word"

    stories.approve(field.yard.db, field.yard.project, "PLAN-1", Actor("Ada"))
    field.finish()
    assert field.yard.on_main(GRAPH) == BETTER.strip(), json.dumps(field.yard.questions())
    assert len(field.commits_on_main("PLAN-1")) == 1
    check_invariants(field)
