"""kill -9 at every journal boundary of every phase: another worker finishes, nothing happens twice (D20).

The cases are derived from the step table. A step that is added there gets its kills by itself, and its case fails
until a story of this field really goes through it.
"""

from typing import Any

import pytest

from damascus.domain.verdict import Phase
from damascus.engine.lifecycle import STEPS
from damascus.engine.step import Step
from tests.crash.boundaries import points
from tests.crash.field import Field
from tests.crash.invariants import check_invariants, check_landed_once
from tests.crash.worker_process import Act

SETTLES = (Phase.SPEC, Phase.BUILD, Phase.REVIEW, Phase.MERGE)
BESIDE = ("forge:", "workspaces:", "command:")
AGENTS = {step.name: step.role for step in STEPS if step.role}


CASES = [(step, point) for step in STEPS for point in points(step)]


@pytest.mark.req("D20", "D21", "W16")
@pytest.mark.parametrize(("step", "point"), CASES, ids=[f"{s.phase}-{s.name}-{p}" for s, p in CASES])
def test_killed_at_a_boundary(field: Field, step: Step[Any], point: str) -> None:
    rough = step.phase == Phase.SPEC
    field.add("S-1", rough=rough)

    dead = field.killed(Act(f"{step.name}:{point}"))
    assert dead.moments("kill") == [f"{step.name}:{point} 1"]
    field.finish()

    check_landed_once(field, "S-1", rough=rough)
    check_invariants(field)
    for agent_step, role in AGENTS.items():
        if agent_step == "implement" or rough:
            lost = (step.name, point) == (agent_step, "after_effect")
            assert field.agent_lines("start", role) == 1 + lost, "an agent step that was done ran again"


@pytest.mark.req("D20")
@pytest.mark.parametrize("point", ["before", "after"])
@pytest.mark.parametrize("phase", SETTLES)
def test_killed_at_a_settle(field: Field, phase: Phase, point: str) -> None:
    field.add("S-1", rough=True)

    field.killed(Act(f"settle:{point}", nth=SETTLES.index(phase) + 1))
    field.finish()

    check_landed_once(field, "S-1", rough=True)
    check_invariants(field)
    assert (field.agent_lines("start"), field.agent_lines("start", "spec-refiner")) == (1, 1)


@pytest.mark.req("D20")
def test_every_boundary_of_the_table_is_one_that_a_story_meets(field: Field) -> None:
    """Both ways: no step without its kills, no boundary in the engine that the table does not name."""
    field.add("S-1", rough=True)

    met = {moment for moment in field.finish().moments() if not moment.startswith(BESIDE)}

    named = {f"{step.name}:{point}" for step, point in CASES}
    assert met == named | {"settle:before", "settle:after"}
