"""Two workers, one of them killed every second, fifty stories: all land, no attempt burnt (D20)."""

import random
from collections import Counter

import pytest

from tests.crash.field import Field, WorkerProcess
from tests.crash.invariants import check_invariants
from tests.waiting import eventually

STORIES = 50
SEED = 20
LIMIT = 240


def all_rest(field: Field) -> bool:
    return not field.yard.query("SELECT 1 FROM work_items WHERE state <> 'resting' LIMIT 1")


def finished_within_a_second(field: Field) -> bool:
    try:
        return eventually(lambda: all_rest(field), 1.0)
    except AssertionError:
        return False


@pytest.mark.slow
@pytest.mark.req("D20")
def test_fifty_stories_and_a_killer(field: Field) -> None:
    dice = random.Random(SEED)
    field.add(*(f"S-{n}" for n in range(STORIES)))
    workers: list[WorkerProcess] = [field.start(slots=2), field.start(slots=2)]
    killed = 0
    while not finished_within_a_second(field) and killed < LIMIT:
        victim = dice.randrange(2)
        workers[victim].kill()
        killed += 1
        workers[victim] = field.start(slots=2)
    for worker in workers:
        assert worker.end() == 0, worker.told()

    rows = field.yard.query("SELECT phase, attempts FROM work_items")
    assert Counter((row["phase"], row["attempts"]) for row in rows) == {("done", 0): STORIES}, f"seed {SEED}"
    assert killed >= 3, "this proves nothing: hardly anybody was killed"
    check_invariants(field)
