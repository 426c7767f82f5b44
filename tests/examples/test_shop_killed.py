"""examples/shop with a killer: the worker is killed again and again, and started again until nothing is left to do."""

import os
import random
import signal
import subprocess

import psycopg
import pytest

from tests.examples.example import Example
from tests.examples.shop import PROJECT, check_built
from tests.waiting import eventually

LIFE = (3, 14)
"""Steps that are done before the next kill: not seconds, in which a busy machine does nothing."""
MOST_KILLS = 10
ENDLESS = 1_000_000
PATIENCE = 600.0


def done_steps(example: Example) -> int:
    with psycopg.connect(example.environ["DAMASCUS_DATABASE_URL"]) as connection:
        row = connection.execute("SELECT count(*) FROM journal WHERE status = 'done'").fetchone()
    return int(row[0]) if row else 0


def started(example: Example) -> "subprocess.Popen[bytes]":
    with (example.folder / "run.log").open("ab") as log:
        command = ["damascus", "run", "--until-idle"]
        return subprocess.Popen(
            command, cwd=example.folder / PROJECT, env=example.environ, stdout=log, stderr=log, start_new_session=True
        )


def killed_or_ended(example: Example, steps: int) -> int:
    """One life of a worker: killed once so many more steps are done, unless it ends before that."""
    worker, wanted = started(example), done_steps(example) + steps
    try:
        eventually(lambda: worker.poll() is not None or done_steps(example) >= wanted, PATIENCE, "the worker to go on")
    finally:
        if worker.poll() is None:
            os.kill(worker.pid, signal.SIGKILL)
    return worker.wait()


@pytest.mark.slow
@pytest.mark.req("D20", "A1.3", "A8.1", "A9.1")
@pytest.mark.timeout(3000)
@pytest.mark.parametrize("example", ["shop"], indirect=True)
@pytest.mark.parametrize("seed", range(3))
def test_the_shop_is_built_though_the_worker_is_killed(example: Example, seed: int) -> None:
    dice = random.Random(seed)
    example.run("\n".join(example.typed).partition("damascus run")[0])
    lives: list[int] = []
    while not lives or lives[-1] == -signal.SIGKILL:
        lives.append(killed_or_ended(example, dice.randrange(*LIFE) if len(lives) < MOST_KILLS else ENDLESS))
    assert lives[-1] == 0, (example.folder / "run.log").read_text()
    assert lives.count(-signal.SIGKILL) >= 5, "this proves little: hardly anybody was killed"
    check_built(example)
