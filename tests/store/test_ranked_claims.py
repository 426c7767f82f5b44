"""Stories that are added together are begun with the head of the longest chain; priority stays above it."""

import pytest

from damascus.domain.spec import parse_spec
from damascus.store import queueing
from damascus.store.db import Database
from tests.store.lane import Lane
from tests.yard import story

pytestmark = pytest.mark.req("A15.1")


@pytest.fixture
def lane(db: Database) -> Lane:
    return Lane(db)


def add(lane: Lane, **stories: dict[str, object]) -> None:
    raws = [story(name, scope=[f"{name}.py"], **front).encode() for name, front in stories.items()]
    new = [queueing.NewStory(parse_spec(raw), raw, "spec.md") for raw in raws]
    queueing.add(lane.db, lane.project, new, "feat/", 5)


def test_the_head_of_a_chain_goes_before_loners_that_came_first(lane: Lane) -> None:
    add(lane, loner={}, other={}, head={}, middle={"depends_on": ["head"]}, end={"depends_on": ["middle"]})
    head = lane.claim_one()
    assert head.story_id == "head"
    lane.land(head)
    assert lane.claim_one().story_id == "middle"


def test_a_more_urgent_story_goes_before_any_chain(lane: Lane) -> None:
    add(lane, head={}, end={"depends_on": ["head"]}, urgent={"priority": 1})
    assert lane.claim_one().story_id == "urgent"


def test_adding_again_with_more_behind_it_ranks_what_nobody_has_begun(lane: Lane) -> None:
    add(lane, first={}, second={}, begun={})
    lane.execute("UPDATE work_items SET deadline_at = deadline_at - interval '1 hour' WHERE story_id = 'begun'")
    assert lane.claim_one().story_id == "begun"
    before = lane.row("begun")["deadline_at"]
    add(lane, first={}, second={}, begun={}, third={"depends_on": ["second", "begun"]})
    assert lane.claim_one().story_id == "second"
    assert lane.row("begun")["deadline_at"] == before, "who has begun keeps its place"
