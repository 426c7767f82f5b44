"""Attempts in a row that ended blocked, over all tasks: counted from events, halted once, ended by a person."""

import pytest

from damascus.domain.events import EventKind
from damascus.domain.feedback import VerdictFeedback
from damascus.domain.halt import HaltReason
from damascus.domain.outcome import NeedsPerson
from damascus.store import halts, people
from damascus.store.db import Database
from damascus.store.halted import current
from tests.store.lane import Lane

ASKED = NeedsPerson(None, "which?", ("retry", "cancel the story"), VerdictFeedback(message="no"))
APPROVAL = NeedsPerson(None, "shall it?", ("yes",), VerdictFeedback(), EventKind.BLOCKED_APPROVAL)


@pytest.fixture
def lane(db: Database) -> Lane:
    made = Lane(db)
    made.add(*(f"S{n}" for n in range(12)))
    return made


def block(lane: Lane, times: int, outcome: NeedsPerson = ASKED) -> None:
    for _ in range(times):
        lane.settle(lane.claim_one(), outcome)


def halted(lane: Lane, limit: int = 5) -> bool:
    return halts.halt_if_blocked(lane.db, lane.project.id, limit)


@pytest.mark.req("A2.2", "A2.6")
def test_five_in_a_row_halt_everything_once_with_one_question(lane: Lane) -> None:
    block(lane, 4)
    assert not halted(lane)
    working = lane.claim_one()
    block(lane, 1)
    assert halted(lane) and not halted(lane), "once"
    [halt] = current(lane.db, lane.project.id)
    assert (halt.reason, halt.story) == (
        HaltReason.BLOCKED,
        None,
    ) and "5 attempts in a row ended blocked" in halt.message
    assert lane.claim(5) == [] and lane.row(working.story_id)["wait_kind"] == "hold"
    asked = lane.query("SELECT id FROM human_issues WHERE closed_at IS NULL AND item_id IS NULL")
    assert [row["id"] for row in asked] == [halt.issue]
    assert lane.events().count("builder.halted") == 1
    assert lane.violations() == []


@pytest.mark.req("A2.2")
def test_a_landing_between_begins_the_count_anew_and_waiting_for_an_approval_is_no_failure(lane: Lane) -> None:
    block(lane, 4)
    lane.land(lane.claim_one())
    block(lane, 4)
    block(lane, 2, APPROVAL)
    assert not halted(lane)
    block(lane, 1)
    assert halted(lane)


@pytest.mark.parametrize("way", ["release", "answer"])
@pytest.mark.req("A2.2")
def test_ended_by_a_person_the_count_begins_anew(lane: Lane, way: str) -> None:
    block(lane, 5)
    assert halted(lane)
    if way == "release":
        assert people.release_hold(lane.db, lane.project.id, lane.project.repo_id) == 1
    else:
        assert halts.end_blocked(lane.db, lane.project.id, "Ada")
    assert current(lane.db, lane.project.id) == [] and not halted(lane)
    assert lane.query("SELECT 1 FROM human_issues WHERE closed_at IS NULL AND item_id IS NULL") == []
    block(lane, 4)
    assert not halted(lane)
    assert lane.events().count("builder.resumed") == 1


@pytest.mark.req("A2.2")
def test_every_repository_of_the_project_halts_and_another_project_does_not(lane: Lane) -> None:
    other, beside = Lane(lane.db), lane.beside("second")
    other.add("O")
    beside.add("B")
    block(lane, 5)
    halted(lane)
    assert [item.story_id for item in lane.claim(20)] == []
    assert [item.story_id for item in other.claim(20)] == ["O"]
    halts.end_blocked(lane.db, lane.project.id, "Ada")
    assert "B" in [item.story_id for item in lane.claim(20)]


@pytest.mark.req("A2.1", "A2.6")
def test_a_task_that_needs_root_halts_alone_and_a_retry_ends_it(lane: Lane) -> None:
    needs = VerdictFeedback(message="it called sudo", halt=HaltReason.ROOT)
    item = lane.claim_one()
    lane.settle(item, NeedsPerson(None, "root?", ("retry",), needs))
    [halt] = current(lane.db, lane.project.id)
    assert (halt.reason, halt.story, halt.message) == (HaltReason.ROOT, item.story_id, "it called sudo")
    assert lane.claim(3), "others go on"
    people.retry(lane.db, lane.project.id, item.story_id)
    assert current(lane.db, lane.project.id) == []
    assert lane.events(item.story_id)[-1] == "builder.resumed"


@pytest.mark.req("A2.5")
def test_a_release_does_not_take_ship_back(lane: Lane) -> None:
    lane.db.one("halt_project", project=lane.project.id, halt="ship", reason="SHIP", item=None)
    people.hold(lane.db, lane.project.id, lane.project.repo_id, "a key was pushed")
    assert people.release_hold(lane.db, lane.project.id, lane.project.repo_id) == 1
    assert [halt.reason for halt in current(lane.db, lane.project.id)] == [HaltReason.SHIP]
    assert lane.claim(1) == []
