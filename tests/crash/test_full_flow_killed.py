"""kill -9 at every journal boundary of a build in profile `full`, also in a later round: no finished agent runs again.

The cases are derived from the flow's own table of steps. The critics' answers depend on the files alone, so that a
story that is taken up again goes the same way. Mutants need a stack that has some: `explain_mutants` is killed in
tests/engine/test_full_stacks.py. A plan's own steps are killed in test_plan_killed.py.
"""

from collections import Counter
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

import pytest

from damascus.engine import flow
from damascus.engine.flow import planning
from damascus.engine.flow.hardening import EXPLAIN_MUTANTS
from damascus.engine.flow.shown import RUN_TESTS
from damascus.engine.flow.work import SPENT
from damascus.engine.lifecycle import FULL, STEPS
from damascus.engine.phases.review import BY_OTHERS
from damascus.engine.step import Step
from tests.crash.boundaries import points
from tests.crash.conftest import Fields
from tests.crash.field import AGENTS_IN_FULL, Field
from tests.crash.invariants import check_invariants, check_landed_once
from tests.crash.worker_process import Act

TWICE = {"author_tests", "critique_tests", "mutate", "run_tests"}
"""In this story the tests are sent back once, and the mutants are run again after the fixer."""
TAKEN = (*FULL, RUN_TESTS, *BY_OTHERS)
OF_A_PLAN = (planning.WRITE_PLAN, planning.CHECK_PLAN, planning.CRITIQUE_PLAN)
CASES = [
    (step, point, nth) for step in TAKEN for point in points(step) for nth in ((1, 2) if step.name in TWICE else (1,))
]


@pytest.fixture
def field(fields: Fields) -> Field:
    return in_full(fields)


def in_full(fields: Fields, more: str = "") -> Field:
    made = fields(more=f'{more}[flow]\nprofile = "full"\n', script=AGENTS_IN_FULL)
    made.add("S-1", scope=["S-1.sh", "tests/test_S-1.sh", "docs/S-1.md"])
    return made


def sent_and_done(field: Field) -> tuple[Counter[str], Counter[str]]:
    sent = Counter(line.split()[1] for line in field.agents_told().splitlines() if line.startswith("start "))
    rows = field.yard.query("SELECT input ->> 'role' AS role FROM journal WHERE status = 'done' AND input ? 'role'")
    return sent, Counter(row["role"] for row in rows)


@pytest.mark.req("D20", "D21", "F4")
@pytest.mark.parametrize(("step", "point", "nth"), CASES, ids=[f"{s.name}-{p}-{n}" for s, p, n in CASES])
def test_killed_at_a_boundary_of_the_flow(field: Field, step: Step[Any], point: str, nth: int) -> None:
    die_and_finish(field, step, point, nth)


@pytest.mark.req("D20", "D21", "F4")
@pytest.mark.parametrize("point", points(SPENT))
def test_killed_where_the_runs_budget_ends_a_loop(fields: Fields, point: str) -> None:
    """The ninth agent is the fixer: what it changed is not run again before the commit."""
    field = in_full(fields, "[budget]\nrun_turns = 9\n")
    die_and_finish(field, SPENT, point, 1)
    [row] = field.yard.query("SELECT key FROM journal WHERE step = 'spent'")
    assert row["key"] == "hardening"


def die_and_finish(field: Field, step: Step[Any], point: str, nth: int) -> None:
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
def test_no_step_of_a_build_in_full_is_left_out_of_the_kills() -> None:
    modules = [import_module(f"{flow.__name__}.{each.name}") for each in iter_modules(flow.__path__)]
    defined = {each.name for module in modules for each in vars(module).values() if isinstance(each, Step)}
    assert defined <= {step.name for step in (*STEPS, *TAKEN, SPENT, EXPLAIN_MUTANTS, *OF_A_PLAN)}


@pytest.mark.req("D20")
def test_a_story_of_this_field_meets_every_boundary_of_the_flow(field: Field) -> None:
    met = set(field.finish().moments())
    assert {f"{step.name}:{point}" for step, point, _ in CASES} <= met
    sent, done = sent_and_done(field)
    assert sent == done and sent["test-critic"] == 2 and sent["fixer"] == 1
