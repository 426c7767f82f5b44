"""Which accepted picture of a page counts for which story, and that an acceptance is of exactly what was shown."""

import pytest

from damascus.domain.errors import DamascusError
from damascus.domain.pictures import mark_of
from damascus.domain.ports import ShownPicture
from damascus.store import screenshots
from damascus.store.db import Database
from damascus.store.retention import old_pictures, prune_pictures
from damascus.store.screenshots import KeptPictures, accepted_in
from tests.store.lane import Lane, item_of

pytestmark = pytest.mark.req("A6.2")
PAGE, WINDOW = "/cart", "1280x800"


@pytest.fixture
def lane(db: Database) -> Lane:
    made = Lane(db)
    made.add("A", "B", "C")
    return made


def pictures(lane: Lane) -> KeptPictures:
    return KeptPictures(lane.db, lane.project.repo_id)


def shown(png: bytes, page: str = PAGE) -> ShownPicture:
    return ShownPicture(page, WINDOW, mark_of(page, WINDOW, png), png, "Chrome/1")


def accept(lane: Lane, story: str, *looks: bytes, by: str = "ann") -> None:
    for png in looks:
        pictures(lane).show(story, shown(png))
        marks = [shown(png).mark]
        lane.db.run(lambda c: screenshots.accept(c, item_of(lane, story).id, marks, by))  # noqa: B023


def may_look(lane: Lane, story: str) -> list[bytes]:
    return [one.png for one in pictures(lane).accepted(story, PAGE, WINDOW)]


def land(lane: Lane, name: str) -> None:
    item = next(item for item in lane.claim(3) if item.story_id == name)
    lane.land(item)


def test_what_is_only_shown_counts_for_nobody_and_what_a_person_accepts_for_every_story(lane: Lane) -> None:
    pictures(lane).show("A", shown(b"blue"))
    assert may_look(lane, "A") == [] == may_look(lane, "B") and accepted_in(lane.db, item_of(lane, "A").id) == {}
    accept(lane, "A", b"blue")
    [found] = pictures(lane).accepted("b", PAGE, WINDOW)
    assert (found.png, found.story, found.by, found.browser) == (b"blue", "A", "ann", "Chrome/1")
    assert pictures(lane).accepted("B", PAGE, "390x700") == [] == pictures(lane).accepted("B", "/", WINDOW)
    assert may_look(lane.beside("other"), "B") == [], "another repository has pages of its own"


def test_the_last_landed_look_is_mains_and_an_older_one_is_a_regression(lane: Lane) -> None:
    accept(lane, "A", b"blue")
    accept(lane, "B", b"green")
    assert set(may_look(lane, "C")) == {b"blue", b"green"}, "both are on their way"
    items = {item.story_id: item for item in lane.claim(3)}
    lane.land(items["B"])
    lane.land(items["A"])
    assert may_look(lane, "C") == [b"blue"], "by the order of landing, not of acceptance"


def test_what_a_cancelled_story_showed_counts_for_nothing(lane: Lane) -> None:
    accept(lane, "A", b"blue")
    lane.execute("UPDATE work_items SET phase = 'cancelled', state = 'resting' WHERE story_id = 'A'")
    assert may_look(lane, "B") == []


def test_the_storys_own_looks_come_before_others_and_mains_before_all(lane: Lane) -> None:
    accept(lane, "A", b"blue")
    land(lane, "A")
    accept(lane, "B", b"green", b"lime")
    accept(lane, "C", b"red")
    assert may_look(lane, "B") == [b"blue", b"lime", b"green", b"red"]


def test_a_story_keeps_one_picture_that_nobody_accepted_and_an_answer_to_an_older_one_is_refused(lane: Lane) -> None:
    accept(lane, "A", b"blue")
    pictures(lane).show("A", shown(b"green"))
    pictures(lane).show("A", shown(b"lime"))
    rows = lane.query("SELECT png, accepted_by FROM screenshots ORDER BY shown_at")
    assert [(bytes(row["png"]), row["accepted_by"]) for row in rows] == [(b"blue", "ann"), (b"lime", None)]
    for marks in ([shown(b"green").mark], [], [shown(b"lime").mark, "0" * 16]):
        with pytest.raises(DamascusError, match="not there any more"):
            lane.db.run(lambda c: screenshots.accept(c, item_of(lane, "A").id, marks, "bob"))  # noqa: B023
    assert may_look(lane, "A") == [b"blue"], "all or none"


def test_what_landed_stays_and_what_nobody_accepted_goes_by_age(lane: Lane) -> None:
    accept(lane, "A", b"blue")
    pictures(lane).show("A", shown(b"lime"))
    accept(lane, "B", b"green")
    pictures(lane).show("C", shown(b"red"))
    land(lane, "A")
    lane.execute("UPDATE work_items SET phase = 'cancelled', state = 'resting' WHERE story_id = 'B'")
    repo = lane.project.repo_id
    assert old_pictures(lane.db, repo, 10).count == 0
    lane.execute("UPDATE work_items SET updated_at = updated_at - interval '11 days'")
    lane.execute("UPDATE screenshots SET shown_at = shown_at - interval '11 days'")
    assert (old_pictures(lane.db, repo, 10).count, old_pictures(lane.db, repo, 10).bytes) == (2, 9)
    prune_pictures(lane.db, repo, 10)
    assert {bytes(row["png"]) for row in lane.query("SELECT png FROM screenshots")} == {b"blue", b"red"}


def test_who_accepted_first_stays_who_accepted(lane: Lane) -> None:
    accept(lane, "A", b"blue")
    accept(lane, "A", b"blue", by="bob")
    [row] = accepted_in(lane.db, item_of(lane, "A").id).values()
    assert row["accepted_by"] == "ann" and row["page"] == PAGE
