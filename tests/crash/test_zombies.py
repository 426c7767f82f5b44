"""A worker that is stopped past its lease and wakes up when its heir is at work: it can't change anything any more.

Stopped by SIGSTOP, as Ctrl-Z does, inside the very call: what it knew when it fell asleep it still believes.
"""

import signal
from typing import Any

import pytest

from tests.crash.conftest import Fields
from tests.crash.field import WAITING, Field, WorkerProcess
from tests.crash.invariants import check_invariants, check_landed_once
from tests.crash.worker_process import Act
from tests.waiting import eventually

LEASE = "lease_seconds = 1.0\nheartbeat_seconds = 0.2\n"
ASLEEP = ("implement:after_effect", "push:after_effect", "propose:after_effect", "land:after_effect", "settle:before")


@pytest.fixture
def field(fields: Fields) -> Field:
    made = fields(limits=LEASE)
    made.add("S-1")
    return made


def asleep(field: Field, when: str, **how: Any) -> WorkerProcess:
    zombie = field.start(Act(when, "stop"), **how)
    zombie.wait_stopped()
    return zombie


def wakes(zombie: WorkerProcess, until: str | None = None) -> None:
    zombie.signal(signal.SIGCONT)
    if until:
        zombie.wait_for(until)


def heir_stopped_at(field: Field, when: str) -> WorkerProcess:
    """The heir has claimed, and is held there."""
    heir = asleep(field, when)
    assert field.yard.query("SELECT 1 FROM leases WHERE fence > 1"), "the heir has not claimed"
    return heir


def all_end(*workers: WorkerProcess) -> None:
    for worker in workers:
        assert worker.end() == 0, worker.told()


def everything(field: Field) -> list[Any]:
    """All that a zombie must leave as it is: rows, branches, pulls, main."""
    tables = ("work_items", "journal", "events_outbox", "queues", "queue_entries", "human_issues")
    rows = [field.yard.query(f"SELECT * FROM {table} ORDER BY 1, 2, 3") for table in tables]
    refs = field.yard.project.mirror.git.out("for-each-ref", "refs/heads", "refs/damascus")
    return [*rows, refs, field.yard.main()]


# ── push ──────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.req("D20", "D21")
@pytest.mark.parametrize("fence_off", [False, True], ids=["fenced", "fence off: it could"])
def test_a_zombie_inside_its_push(field: Field, fence_off: bool) -> None:
    """⚑ It read the refs, fell asleep, and its heir has claimed but not pushed yet."""
    zombie = asleep(field, "forge:push", fence_off=fence_off)
    heir = heir_stopped_at(field, "push:before_intent")

    wakes(zombie, "forge:push:done" if fence_off else "forge:push:Stale")

    assert (field.branch("S-1") is not None) == fence_off, "the branch was changed by a zombie"
    heir.signal(signal.SIGCONT)
    all_end(heir, zombie)
    check_landed_once(field, "S-1")
    check_invariants(field)


@pytest.mark.req("D20", "D21")
@pytest.mark.parametrize("when", ["forge:push", "forge:open_pull", "forge:land", "forge:close_merged", *ASLEEP])
def test_a_zombie_that_wakes_when_its_heir_has_landed(field: Field, when: str) -> None:
    """Asleep inside a call of the forge, or before its next word to the database: nothing changes."""
    zombie = asleep(field, when)
    field.finish()
    before = everything(field)

    wakes(zombie)
    all_end(zombie)

    assert everything(field) == before
    check_landed_once(field, "S-1")
    check_invariants(field)


@pytest.mark.req("D20", "D21")
@pytest.mark.parametrize("when", ASLEEP)
def test_a_zombie_can_not_write_the_row_once_its_heir_has_claimed(field: Field, when: str) -> None:
    zombie = asleep(field, when)
    heir = heir_stopped_at(field, "settle:before")
    before = everything(field)

    wakes(zombie)
    eventually(lambda: fenced_out(zombie), 30, "the zombie to give up")

    assert everything(field) == before
    heir.signal(signal.SIGCONT)
    all_end(heir, zombie)
    check_landed_once(field, "S-1")
    check_invariants(field)


def fenced_out(zombie: WorkerProcess) -> bool:
    return bool(zombie.moments("fenced"))


# ── propose ───────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.req("D20", "D9")
def test_a_pull_that_a_zombie_opens_late_is_adopted(field: Field) -> None:
    zombie = asleep(field, "forge:open_pull")
    heir = heir_stopped_at(field, "propose:before_intent")

    wakes(zombie, "forge:open_pull:done")
    assert len(field.pulls()) == 1
    heir.signal(signal.SIGCONT)
    all_end(heir, zombie)

    assert [event["body"]["found"] for event in field.yard.events("S-1", "build.pr_opened")] == [True]
    check_landed_once(field, "S-1")
    check_invariants(field)


# ── land ──────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.req("D20", "F14")
def test_a_zombie_can_land_nothing_but_what_its_heir_must_land(field: Field) -> None:
    """A landing whose intent is recorded can't be withdrawn: cancel and retry refuse it, the heir repeats it."""
    zombie = asleep(field, "forge:land")
    heir = heir_stopped_at(field, "land:before_intent")
    tested = field.yard.item("S-1")["candidate"]

    wakes(zombie, "forge:land:done")

    assert field.yard.main() == tested
    heir.signal(signal.SIGCONT)
    all_end(heir, zombie)
    check_landed_once(field, "S-1")
    check_invariants(field)


@pytest.mark.req("D20", "F14")
def test_a_zombie_can_not_land_when_main_has_moved_on(field: Field) -> None:
    zombie = asleep(field, "forge:land")
    field.yard.commit({"notes.txt": "mine\n"}, "a person's commit")
    field.finish()
    before = everything(field)

    wakes(zombie)
    all_end(zombie)

    assert everything(field) == before
    assert field.yard.subjects()[:2] == ["feat: Story S-1", "a person's commit"]
    check_invariants(field)


# ── the workspace ─────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.req("D20", "D4")
def test_a_zombie_does_not_take_the_workspace_from_under_its_heir(fields: Fields) -> None:
    """It was about to clear what an earlier worker left; its heir's agent is at work there now."""
    field = fields(limits=LEASE)
    field.add("S-1")
    waiting = field.make_agent(WAITING, "waiting")
    field.killed(Act("command:implement"), agent=waiting)
    zombie = asleep(field, "workspaces:exists", agent="true")
    heir = field.start(agent=waiting)
    heir.wait_for("command:implement")

    wakes(zombie)
    eventually(lambda: fenced_out(zombie), 30, "the zombie to give up")
    field.let_go()
    all_end(heir, zombie)

    check_landed_once(field, "S-1")
    check_invariants(field)
