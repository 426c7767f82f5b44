"""One line per change, a note once, slots as they are: what `run` prints without a terminal, and what `status` says."""

from types import SimpleNamespace
from typing import Any

import pytest

from damascus.cli import working
from damascus.cli.live import Progress
from damascus.engine import guards
from damascus.people.overview import look
from damascus.store.settle import write_record
from damascus.system.hostid import WorkerLock, new_worker_id
from tests.cli import states
from tests.cli.conftest import Cli
from tests.yard import Yard, story


class Told:
    """What a display printed so far, without times."""

    def __init__(self, yard: Yard, capsys: pytest.CaptureFixture[str]) -> None:
        self.capsys = capsys
        self.progress = Progress(lambda: look(yard.app, yard.project))

    def __call__(self) -> list[str]:
        self.progress.tick()
        return [line.split("  ", 1)[1] for line in self.capsys.readouterr().out.splitlines()]


def record(yard: Yard, item: Any, **facts: object) -> None:
    yard.db.run(lambda c: write_record(c, item.id, facts))


def goes_on(yard: Yard) -> None:
    what = "state = 'ready', wait_kind = NULL, wait_key = NULL, not_before = NULL"
    yard.query(f"UPDATE work_items SET {what} RETURNING id")


@pytest.fixture
def told(yard: Yard, capsys: pytest.CaptureFixture[str]) -> Told:
    return Told(yard, capsys)


def test_one_line_per_change_of_ci_not_per_look(yard: Yard, told: Told) -> None:
    yard.add(story("S-1"))
    yard.query("UPDATE work_items SET pr_url = 'local://repo/pulls/4' RETURNING id")
    said = told()
    for passed in (1, 1, 1, 2, 2):
        [item] = states.claim(yard)
        said += told()
        record(yard, item, step="ci", progress={"jobs_passed": passed, "total_jobs": 6})
        said += told()
        states.waits(yard, item, "ci", states.SHA, -1)
        said += told()
        goes_on(yard)
    assert [line for line in said if "CI" in line] == [
        "S-1  build: CI, 1 of 6 green, PR 4",
        "S-1  build: CI, 2 of 6 green, PR 4",
    ]


def test_a_step_is_told_once_and_a_phase_is_no_step(yard: Yard, told: Told) -> None:
    yard.add(story("S-1"))
    said = told()
    for _ in range(3):
        [item] = states.claim(yard)
        record(yard, item, step="build")
        said += told()
        record(yard, item, step="implement")
        said += told()
        states.outage(yard, item, "gateway said 503")
        said += told()
        goes_on(yard)
    assert said == [
        "S-1  build: ready",
        "S-1  build: begins",
        "S-1  build: implement",
        "S-1  build: waits: gateway said 503 (not counted)",
    ]


def test_green_jobs_of_the_last_push_are_not_told_of_another_step(yard: Yard, told: Told) -> None:
    yard.add(story("S-1"))
    [item] = states.claim(yard)
    record(yard, item, step="implement", progress={"jobs_passed": 1, "total_jobs": 2})
    assert told() == ["S-1  build: implement"]


def test_a_note_is_printed_once_per_change_of_state(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = [0.0]
    monkeypatch.setattr(working.time, "monotonic", lambda: clock[0])
    worker: Any = SimpleNamespace(paused=None)
    tick = working._throttled(lambda: None, worker)

    def notes() -> int:
        return capsys.readouterr().err.count("note: ")

    for load in (9.1, 8.7, None, 8.9, 9.0):  # seconds apart: it is the same trouble
        clock[0] += 5
        worker.paused = load and guards.load_guard(1.0, load, 2)
        tick()
    assert notes() == 1
    worker.paused = "only 3 MB are free in /x, the reserve is 500 MB: free some, work goes on by itself"
    tick()
    assert notes() == 1
    worker.paused = None
    tick()
    clock[0] += 2 * working.OVER
    tick()
    worker.paused = guards.load_guard(1.0, 9.0, 2)
    tick()
    assert notes() == 1


def test_status_tells_why_nothing_new_is_begun(yard: Yard, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    yard.add(story("S-1"), story("S-2"))
    lock = WorkerLock.hold(yard.folder / "home" / "workers", new_worker_id())
    states.claim(yard, worker=new_worker_id())
    assert "nothing new is begun" not in cli("status").out
    monkeypatch.setattr(guards, "guard", lambda *_: guards.load_guard(1.0, 9.0, 2))
    said = cli("status").out
    assert said.count("nothing new is begun") == 1 and "the load of this machine is 9.0 on 2 cores" in said
    lock.release()


def test_slots_are_those_of_the_workers_that_live(yard: Yard, cli: Cli) -> None:
    yard.add(*(story(f"S-{n}") for n in range(4)))
    states.claim(yard, 3)
    assert "2 of 2 slots busy · 1 in the merge queue" in cli("status").out
    states.register(yard, slots=5)
    assert "3 of 5 slots busy" in cli("status").out
