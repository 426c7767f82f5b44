"""The table of stories: filters in the address, page after page, and a page that is empty says why."""

from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from damascus.domain.feedback import VerdictFeedback
from damascus.domain.verdict import Verdict
from damascus.people import browsing as asking
from damascus.store import browsing, projects
from damascus.store.db import Database, sql
from tests.cli import states
from tests.store.test_views import fill
from tests.web.reading import Browser
from tests.web.test_page_statements import rows_read
from tests.yard import Yard, story

pytestmark = pytest.mark.req("X12")
SCRIPT = "<script>alert(1)</script> & \u202e\x1b[31mred"


@pytest.fixture
def yard(tmp_path: Path, database_url: str) -> Iterator[Yard]:
    made = Yard(tmp_path, database_url)
    yield made
    made.db.close()


def three(yard: Yard) -> None:
    for name, title in (("S-1", "CSV import"), ("S-2", "dark mode"), ("S-3", "export to PDF")):
        yard.add(story(name, title=title))
    item, second = states.claim(yard, 2)
    states.rejected(yard, item, Verdict.TESTS_FAILED, VerdictFeedback(message="one is red"))
    states.asks(yard, second, "Which one holds?", "retry", "cancel the story")


def test_an_empty_list_says_why(yard: Yard) -> None:
    browser = Browser(yard)
    assert "No story has been queued yet. Queue one: damascus add SPEC" in browser.page("/stories").text
    three(yard)
    assert (
        "No story matches phase merge, “nobody” in its id or title."
        in browser.page("/stories?phase=merge&q=nobody").text
    )
    assert "No story matches phase done, state ready." in browser.page("/stories?phase=done&state=ready").text


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ("", {"S-1", "S-2", "S-3"}),
        ("phase=blocked", {"S-2"}),
        ("state=ready", {"S-1", "S-3"}),
        ("q=CSV", {"S-1"}),
        ("q=s-3", {"S-3"}),
        ("verdict=tests_failed", {"S-1"}),
        ("state=ready&q=pdf&phase=build", {"S-3"}),
        ("repo=repo", {"S-1", "S-2", "S-3"}),
        ("phase=&state=&q=", {"S-1", "S-2", "S-3"}),
    ],
)
def test_each_filter_is_in_the_address(yard: Yard, asked: str, found: set[str]) -> None:
    three(yard)
    page = Browser(yard).page(f"/stories?{asked}")
    assert set(page.column("story")) == found
    assert page.links["S-1" if "S-1" in found else min(found)].startswith("/stories/S-")


@pytest.mark.parametrize(
    "asked", ["phase=nowhere", "verdict=1", "before=x", "before=1-x", "repo=none", "before=9-" + "9" * 40]
)
def test_a_word_that_is_none_is_told_in_one_sentence(yard: Yard, asked: str) -> None:
    page = Browser(yard).page(f"/stories?{asked}")
    assert 400 <= page.status < 500
    assert "Traceback" not in page.text and page.text.count(".") >= 1


def test_what_people_write_is_shown_and_never_run(yard: Yard) -> None:
    yard.add(story("S-1"))
    yard.query("UPDATE work_items SET title = %s RETURNING 1", SCRIPT + "x" * 10_000)
    page = Browser(yard).page("/stories?q=" + "%3Cscript%3E")
    assert page.column("story") == ["S-1"]
    assert "<script>alert" not in page.html and "\x1b" not in page.html and "\u202e" not in page.html
    assert len(page.html) < 20_000


def test_pages_follow_each_other_without_a_gap(db: Database, database_url: str, tmp_path: Path) -> None:
    yard = Yard(tmp_path, database_url)
    fill(db, yard.row, 130)
    browser, seen, path = Browser(yard), [], "/stories"
    while path:
        page = browser.page(path)
        seen += page.column("story")
        path = page.links.get("older →", "")
    assert len(seen) == 130 and set(seen) == {f"S-{n}" for n in range(1, 131)}
    yard.db.close()


def test_a_search_looks_so_far_and_says_so(yard: Yard, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(yard.db, yard.row, 60)
    yard.query("UPDATE work_items SET title = 'a needle', updated_at = '2020-01-01' WHERE story_id = 'S-7' RETURNING 1")
    monkeypatch.setattr(browsing, "LOOK", 25)
    browser, path, looks = Browser(yard), "/stories?q=needle", 0
    while "S-7" not in (page := browser.page(path)).text:
        assert "older ones may match" in page.text
        path, looks = page.links["older, looking further →"], looks + 1
    assert looks == 2
    assert Browser(yard).page("/stories?q=s-7").column("story")[0] == "S-7", "a whole id is found at any age"


@pytest.mark.parametrize("asked", [{}, {"phase": "done"}, {"state": "ready", "phase": "build"}])
def test_a_page_never_walks_through_all_stories(db: Database, asked: dict[str, str]) -> None:
    project = projects.register(db, uuid4(), "calc", "/nowhere", ("main", None))
    fill(db, project, 20_000)
    wanted = asking.read_filter(asked)
    params = {
        "project": project.id,
        "states": [s.value for s, _ in wanted.pairs], "phases": [p.value for _, p in wanted.pairs],
        "at": "infinity", "id": 2**63 - 1, "text": None, "verdict": None, "repo": None, "look": 51, "limit": 51,
    }  # fmt: skip
    text = f"EXPLAIN (ANALYZE, FORMAT JSON) {sql('stories_page')}"
    [plan] = db.run(lambda c: c.execute(text.encode(), params).fetchall())
    assert max(rows_read(plan["QUERY PLAN"][0]["Plan"])) <= 51 * len(wanted.pairs)
