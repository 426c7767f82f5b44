"""Who owns which file: written by the settle that makes a story done, and for stories that landed before."""

from collections.abc import Iterator
from datetime import UTC, datetime

import pytest
from psycopg.types.json import Jsonb

from damascus.domain import policy
from damascus.domain.feedback import VerdictFeedback
from damascus.domain.ids import StoryId
from damascus.domain.outcome import Landed, Rejected
from damascus.domain.verdict import Verdict
from damascus.store import owners, settle
from damascus.store.db import Database
from damascus.store.migrate import migrate
from tests.databases import empty_database
from tests.store.lane import Lane

pytestmark = pytest.mark.req("A7.1")
NOW = datetime.now(UTC)
PULL: dict[str, object] = {"pr_url": "local://shop/pulls/1"}


@pytest.fixture
def lane(db: Database) -> Lane:
    return Lane(db)


def landed(lane: Lane, name: str, *files: str) -> None:
    lane.add(name)
    item = lane.claim_one()
    settle.settle(lane.db, item, policy.decide(item, Landed("b" * 40, "reachable", PULL, files), NOW))


def test_what_a_story_landed_is_its_own_and_shared_files_have_several_owners(lane: Lane) -> None:
    landed(lane, "T-1", "cart.py", "app.py")
    landed(lane, "T-2", "app.py", "odd \udcff name")
    found = owners.owners_of(lane.db, lane.project.repo_id, ["app.py", "cart.py", "nobody.py", "odd \udcff name"])
    assert {path: [one.story for one in each] for path, each in found.items()} == {
        "app.py": ["T-1", "T-2"],
        "cart.py": ["T-1"],
        "odd ? name": ["T-2"],
    }
    first = found["app.py"][0]
    assert first.files == ("app.py", "cart.py") and first.spec is not None and first.spec.test_command
    told = owners.map_of(lane.db, lane.project.repo_id)
    assert told == [("app.py", ["T-1", "T-2"]), ("cart.py", ["T-1"]), ("odd ? name", ["T-2"])]


def test_nothing_is_owned_by_what_did_not_land_or_is_stale(lane: Lane) -> None:
    lane.add("T-1")
    item = lane.claim_one()
    refused = Rejected(Verdict.TESTS_FAILED, VerdictFeedback(files_changed=["cart.py"]))
    settle.settle(lane.db, item, policy.decide(item, refused, NOW))
    assert owners.map_of(lane.db, lane.project.repo_id) == []
    lane.execute("UPDATE work_items SET state = 'resting', phase = 'cancelled'")
    landed(lane, "T-2", "cart.py")
    lane.execute("UPDATE work_items SET phase = 'stale', change = '{}' WHERE story_id = 'T-2'")
    assert owners.KeptOwners(lane.db, lane.project.repo_id).of(["cart.py"]) == []
    assert owners.KeptOwners(lane.db, lane.project.repo_id).every() == []
    assert owners.files_of(lane.db, lane.project.repo_id, ["t-2"]) == {"T-2": ["cart.py"]}, "its files stay its own"


@pytest.fixture
def empty() -> Iterator[Database]:
    with empty_database() as url:
        db = Database(url)
        yield db
        db.close()


def test_stories_that_landed_before_own_what_they_changed(empty: Database) -> None:
    migrate(empty, upto=16)
    lane = Lane(empty)
    lane.bulk("S-", 3, "cart.py")
    done = (
        "UPDATE work_items SET state = 'resting', phase = 'done', pr_url = 'x', merged_commit = %s, candidate = %s,"
        " last_feedback = %s WHERE story_id = %s"
    )
    for name, files in (("S-1", {"files_changed": ["cart.py"]}), ("S-2", {"files_changed": None}), ("S-3", None)):
        lane.execute(done, "b" * 40, "b" * 40, Jsonb(files), name)
    migrate(empty)
    assert owners.map_of(empty, lane.project.repo_id) == [("cart.py", ["S-1"])]


def test_kin_are_what_a_story_is_built_on_and_what_is_built_on_it(lane: Lane) -> None:
    for name in ("T-1", "T-2", "T-4", "T-5", "T-6"):
        landed(lane, name, f"{name}.py")
    lane.add("T-3")
    upon = "ARRAY[(SELECT id FROM work_items WHERE story_id = %s)]"
    needs = f"UPDATE work_items SET depends_on = {upon} WHERE story_id = %s"
    for upper, name in (("T-1", "T-2"), ("T-2", "T-3"), ("T-3", "T-4"), ("T-4", "T-5")):
        lane.execute(needs, upper, name)
    known = owners.KeptOwners(lane.db, lane.project.repo_id)
    assert [one.story for one in known.kin(StoryId("t-3"))] == ["T-5", "T-4", "T-2", "T-1"]
    lane.execute("UPDATE work_items SET phase = 'stale', change = '{}' WHERE story_id = 'T-4'")
    assert [one.story for one in known.kin(StoryId("T-3"))] == ["T-5", "T-2", "T-1"], "a stale one promises nothing"
    assert known.kin(StoryId("T-9")) == []
