"""kill -9 in the middle of a step: at a Python call half-way through it, while its command runs, between two calls of
the forge. What was half done is done again or found, never twice."""

import random
from typing import Any

import pytest

from damascus.domain.verdict import Phase
from damascus.engine.lifecycle import STEPS
from damascus.engine.step import Step
from tests.crash.field import Field
from tests.crash.invariants import check_invariants, check_landed_once
from tests.crash.worker_process import Act

LOCAL = (0.5,)
OUTSIDE = (0.2, 0.5, 0.8)
CASES = [(step, share) for step in STEPS for share in (LOCAL if step.kind == "local" else OUTSIDE)]
WITH_COMMAND = ("refine", "implement", "red", "verify")
FORGE_CALLS = (
    "main_tip",
    "remote_refs",
    "push",
    "find_pull",
    "open_pull",
    "ci",
    "diff",
    "land",
    "close_merged",
    "landed",
)
SEEDS = range(12)


@pytest.mark.req("D20")
@pytest.mark.parametrize(("step", "share"), CASES, ids=[f"{s.name}-{share:.0%}" for s, share in CASES])
def test_killed_inside_a_step(field: Field, calls_in_steps: dict[str, int], step: Step[Any], share: float) -> None:
    rough = step.phase == Phase.SPEC
    field.add("S-1", rough=rough)
    middle = max(1, int(calls_in_steps[step.name] * share))

    dead = field.killed(Act(f"call:{step.name}:{middle}"))
    assert dead.moments("kill") == [f"call:{step.name}:{middle} 1"]
    field.finish()

    check_landed_once(field, "S-1", rough=rough)
    check_invariants(field)
    check_agent_runs(field, may_repeat="implement" if step.name == "implement" else None)


@pytest.mark.req("D20")
@pytest.mark.parametrize("step", WITH_COMMAND)
def test_killed_while_the_command_of_a_step_runs(field: Field, step: str) -> None:
    rough = step == "refine"
    field.add("S-1", rough=rough)

    field.killed(Act(f"command:{step}"))
    field.finish()

    check_landed_once(field, "S-1", rough=rough)
    check_invariants(field)
    check_agent_runs(field, may_repeat=step)


@pytest.mark.req("D20")
@pytest.mark.parametrize("name", FORGE_CALLS)
def test_killed_before_a_call_of_the_forge(field: Field, name: str) -> None:
    """`close_merged` is the sharp one: main has moved, the pull request does not say so yet."""
    field.add("S-1")

    field.killed(Act(f"forge:{name}"))
    field.finish()

    check_landed_once(field, "S-1")
    check_invariants(field)
    check_agent_runs(field)


@pytest.mark.req("D20")
@pytest.mark.parametrize("seed", SEEDS)
def test_killed_anywhere(field: Field, calls_of_a_story: int, seed: int) -> None:
    """At any line: transactions, policy and settling are no exception."""
    field.add("S-1")
    at = random.Random(seed).randrange(1, int(calls_of_a_story * 0.9))

    field.killed(Act(f"call:*:{at}"))
    field.finish()

    check_landed_once(field, "S-1")
    check_invariants(field)


def check_agent_runs(field: Field, may_repeat: str | None = None) -> None:
    """An agent step is done once it is in the journal; until then it may be asked again, once per death."""
    assert field.agent_lines("start") in ((1, 2) if may_repeat == "implement" else (1,))
