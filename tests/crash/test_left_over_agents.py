"""A worker dies or sleeps while its agent runs: the heir ends that agent first, and what it wrote is kept (D4)."""

import signal

import pytest

from damascus.domain.ids import StoryId
from damascus.git.snapshots import Snapshots
from tests.crash.conftest import Fields
from tests.crash.field import WAITING, Field
from tests.crash.invariants import check_invariants, check_landed_once
from tests.crash.worker_process import Act
from tests.waiting import eventually

LEASE = "lease_seconds = 1.0\nheartbeat_seconds = 0.2\n"
# It tells if an agent before it, or anything that one started, still has the lock that each takes.
ALONE = 'exec 9> "$HOME/alone"; flock -n 9 || echo "not alone" >> $log\n'


@pytest.fixture
def field(fields: Fields) -> Field:
    return fields(limits=LEASE, before=ALONE + WAITING)


@pytest.mark.req("D20", "D4")
def test_what_a_killed_workers_agent_had_written_is_in_the_snapshot_chain(field: Field) -> None:
    field.add("S-1")
    worker = field.start()
    agent = field.agent_waits()

    worker.kill()
    eventually(lambda: not agent.running(), 10, "the agent to end with its worker")
    field.let_go()
    field.finish()

    saved = Snapshots(field.yard.project.mirror).chain(StoryId("S-1"))
    files = [field.yard.project.mirror.listing(snapshot.tree).files for snapshot in saved]
    assert any("tests/test_S-1.sh" in each and "S-1.sh" not in each for each in files), "partial work was lost"
    assert (field.agent_lines("start"), field.agent_lines("end")) == (2, 1)
    check_landed_once(field, "S-1")
    check_invariants(field)


@pytest.mark.req("D20", "D21")
@pytest.mark.parametrize("rough", [False, True], ids=["implement", "refine"])
def test_the_agent_of_a_worker_that_sleeps_is_ended_before_the_next_one_starts(field: Field, rough: bool) -> None:
    field.add("S-1", rough=rough)
    role = "spec-refiner" if rough else "code-implementer"
    zombie = field.start(can_sleep=True)
    agent = field.agent_waits(role)
    zombie.fall_asleep()
    heir = field.start()
    eventually(lambda: field.agent_lines("waits", role) == 2, 30, "the heir's agent")

    assert not agent.running(), "two agents at once"
    assert "not alone" not in field.agents_told()
    field.let_go()
    assert heir.end() == 0, heir.told()
    zombie.signal(signal.SIGCONT)
    assert zombie.end() == 0, zombie.told()
    check_landed_once(field, "S-1", rough=rough)
    check_invariants(field)


@pytest.mark.req("D20", "D21")
def test_a_left_over_agent_is_not_forgotten_when_its_heir_dies_too(field: Field) -> None:
    """The heir's own intent must not wipe out which process the first one left."""
    field.add("S-1")
    zombie = field.start(can_sleep=True)
    agent = field.agent_waits()
    zombie.fall_asleep()
    field.killed(Act("implement:after_intent"))
    assert agent.running(), "this proves nothing: the agent is gone already"

    heir = field.start()
    eventually(lambda: field.agent_lines("waits") == 2, 30, "the heir's agent")

    assert not agent.running(), "two agents at once"
    assert "not alone" not in field.agents_told()
    field.let_go()
    assert heir.end() == 0, heir.told()
    zombie.kill()
    check_landed_once(field, "S-1")
    check_invariants(field)
