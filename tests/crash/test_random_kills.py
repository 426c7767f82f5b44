"""Two workers, one of them killed again and again, fifty stories: all land, no attempt burnt (D20)."""

import random
from collections import Counter

import pytest

from tests.crash.field import Field, WorkerProcess
from tests.crash.invariants import check_invariants
from tests.waiting import LONG, eventually

STORIES = 50
SEED = 20
LIFE = (6, 30)
"""Steps that the two finish before the next kill. Not seconds: on a busy machine one second ends no step, and a story
that is killed again and again inside the same step is blocked, as it should be."""


def all_rest(field: Field) -> bool:
    return not field.yard.query("SELECT 1 FROM work_items WHERE state <> 'resting' LIMIT 1")


def done_steps(field: Field) -> int:
    return int(field.yard.query("SELECT count(*) AS n FROM journal WHERE status = 'done'")[0]["n"])


@pytest.mark.slow
@pytest.mark.req("D20")
def test_fifty_stories_and_a_killer(field: Field) -> None:
    dice = random.Random(SEED)
    field.add(*(f"S-{n}" for n in range(STORIES)))
    workers: list[WorkerProcess] = [field.start(slots=2), field.start(slots=2)]
    killed = 0
    while not all_rest(field):
        more = done_steps(field) + dice.randrange(*LIFE)
        eventually(lambda: all_rest(field) or done_steps(field) >= more, LONG, "the two to go on")  # noqa: B023
        victim = dice.randrange(2)
        workers[victim].kill()
        killed += 1
        workers[victim] = field.start(slots=2)
    for worker in workers:
        assert worker.end() == 0, worker.told()

    rows = field.yard.query("SELECT phase, attempts FROM work_items")
    assert Counter((row["phase"], row["attempts"]) for row in rows) == {("done", 0): STORIES}, f"seed {SEED}"
    assert killed >= 20, "this proves little: hardly anybody was killed"
    check_invariants(field)
