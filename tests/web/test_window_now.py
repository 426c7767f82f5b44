"""Now and the inbox: the words of `status` and `inbox`, an empty page that says why, nothing finished counted."""

import html
import re
import threading
from typing import Any

import pytest

from damascus.domain.feedback import VerdictFeedback
from damascus.domain.verdict import Verdict
from damascus.people.explaining import explained
from damascus.store import db as store_db
from damascus.store.db import Database
from damascus.telling import now
from tests.cli.states import asks, claim, landed, outage, rejected
from tests.web.browser_like import Visitor
from tests.yard import Yard, story


def text_of(page: str) -> str:
    """As somebody reads it: without tags, blanks as one."""
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", page)).split())


def section(page: str, name: str) -> str:
    found = re.search(rf'<section id="{name}"[^>]*>(.*?)</section>', page, re.DOTALL)
    assert found, f"no section {name}"
    return text_of(found[1])


@pytest.mark.req("X12")
def test_an_empty_window_says_why(yard: Yard, visitor: Visitor) -> None:
    page = visitor.get("/").text
    assert "Nothing is queued yet" in page and "damascus add SPEC" in page and "no worker runs" in page
    assert "Nothing needs you" in visitor.get("/inbox").text
    yard.add(story("S-1"))
    assert "no worker runs. Start one: damascus run" in section(visitor.get("/").text, "moving")


@pytest.mark.req("X12")
def test_now_tells_what_moves_waits_and_was_caught_in_the_words_of_status(yard: Yard, visitor: Visitor) -> None:
    shared = ["io/a.py", "tests/test_a.py"]
    yard.add(
        story("S-1", scope=shared), story("S-2", scope=["io/a.py", "tests/test_b.py"]), story("S-3"), story("S-4"),
        story("S-5"), story("S-6", depends_on=["S-1"]),
    )  # fmt: skip
    items = {item.story_id: item for item in claim(yard, 6)}
    rejected(yard, items["S-3"], Verdict.NOT_RED, VerdictFeedback(message="its tests prove nothing"))
    outage(yard, items["S-4"], "its rate limit is reached")
    landed(yard, "S-5")
    page = visitor.get("/").text
    project = yard.app.project(yard.repo)
    row = explained(yard.app, project, "S-1").row
    assert f"S-1 Story S-1 build {now.now(row)} {now.tries(row)}" in section(page, "moving")
    waiting = section(page, "waiting")
    assert "files of S-1: 1" in waiting and "another story to land: 1" in waiting and "trouble outside" in waiting
    assert section(page, "caught").endswith("tests that prove nothing: 1")
    assert "S-5 Story S-5 on main as" in section(page, "landed")
    strip = text_of(page.split('id="strip"')[1].split("</div>")[0])
    assert "1 of 2 slots busy" in strip and "nothing needs you" in strip and "quota resets" in strip
    assert f"main {yard.main()[:7]}" in strip


@pytest.mark.req("X8")
def test_the_inbox_is_ranked_and_says_what_each_answer_does(yard: Yard, visitor: Visitor) -> None:
    yard.add(story("S-1", priority=3), story("S-2", priority=0))
    items = {item.story_id: item for item in claim(yard, 2)}
    later = asks(yard, items["S-1"], "Which colour?", "red", "cancel the story")
    sooner = asks(yard, items["S-2"], "Which size?\n--- spec\n+ small", "edit the spec and add it again", "retry")
    page = visitor.get("/inbox").text
    assert page.index(f'id="question-{sooner}"') < page.index(f'id="question-{later}"')
    told = text_of(page)
    assert "it stays blocked until you add its corrected spec" in told and "the story ends" in told
    assert f"damascus answer {later} 1" in told and "+ small" in told and "correct its spec and add it again" in told
    assert "2 need you" in text_of(visitor.get("/").text)


@pytest.mark.req("X12")
def test_the_train_names_who_is_tested_on_whom(yard: Yard, visitor: Visitor) -> None:
    yard.add(story("S-1"), story("S-2"))
    items = claim(yard, 2)
    yard.query("INSERT INTO queues (repo_id, target, width) VALUES (%s, 'main', 2) RETURNING 1", yard.row.repo_id)
    base = yard.main()
    for item, state in zip(items, ("green", "testing"), strict=True):
        put, commit = "SELECT queue_put(%s, 'main', %s, %s, %s, %s, 9) AS answer", f"{item.id:040x}"
        assert yard.query(put, yard.row.repo_id, item.id, base, commit, state)[0]["answer"] == "in"
        base = commit
    train = section(visitor.get("/").text, "train")
    assert "S-1 (green, lands next)" in train and "S-2 (testing, on top of S-1)" in train


@pytest.mark.req("X12")
def test_no_page_counts_what_is_finished(yard: Yard, visitor: Visitor, monkeypatch: pytest.MonkeyPatch) -> None:
    yard.add(story("S-1"))
    used: set[str] = set()

    def watched(name: str) -> str:
        used.add(name)
        return store_db.statements()[name]

    monkeypatch.setattr(store_db, "sql", watched)
    assert visitor.get("/").status_code == visitor.get("/inbox").status_code == 200
    assert "window_strip" in used and "view_counts" not in used
    counting = [name for name in used if "count(" in text(name) and "resting" in text(name)]
    assert [name for name in counting if "LIMIT" not in text(name)] == []


def text(name: str) -> str:
    return store_db.statements()[name]


@pytest.mark.req("X12")
def test_a_servers_threads_come_and_go_and_their_connections_with_them(yard: Yard) -> None:
    database = Database(yard.db.url)

    def look() -> Any:
        return database.one("stream_pruned")

    for _ in range(12):
        thread = threading.Thread(target=look)
        thread.start()
        thread.join()
    look()
    query = "SELECT count(*) AS n FROM pg_stat_activity WHERE datname = current_database()"
    assert yard.query(query)[0]["n"] <= 3
    database.close()
