"""A person acts in the window: the same as by command, once, told, written down; a conflict is named."""

import pytest

from damascus.people import stories
from tests.cli.states import asks, claim, landed
from tests.web.browser_like import ADA, Visitor
from tests.yard import Yard, story


def audit(yard: Yard) -> list[tuple[str, str, str, str]]:
    rows = yard.query("SELECT who, act, target, outcome, by, origin FROM audit ORDER BY id")
    assert all(row["by"] == "browser" and row["origin"] == "127.0.0.1" for row in rows)
    return [(row["who"], row["act"], row["target"], row["outcome"]) for row in rows]


def question(yard: Yard, *options: str) -> int:
    yard.add(story("S-1"))
    [item] = claim(yard)
    return asks(yard, item, "Which one holds?", *options)


@pytest.mark.req("X8")
def test_a_question_is_answered_and_the_answer_is_written_down(yard: Yard, visitor: Visitor) -> None:
    number = question(yard, "retry", "cancel the story")
    page = visitor.get("/inbox").text
    assert "Which one holds?" in page and f"damascus answer {number} 1" in page and "a new run" in page
    assert "(1) Inbox" in page and "/icon.svg?n=1" in page and f'name="csrf" value="{visitor.csrf()}"' in page
    told = visitor.notice(visitor.act("answer", question=str(number), choice="1", words="in lib/", back="/inbox"))
    item = yard.item("S-1")
    assert item["phase"] == "build" and item["answers"] == ["in lib/"] and "goes on" in told
    assert "Nothing needs you" in visitor.get("/inbox").text
    [(who, act, target, outcome)] = audit(yard)
    assert (who, act, target) == (ADA.name, "answer", str(number)) and "goes on" in outcome


@pytest.mark.req("X8")
def test_an_answer_that_came_too_late_names_what_was_answered(yard: Yard, visitor: Visitor) -> None:
    number = question(yard, "retry", "cancel the story")
    mark = visitor.csrf()
    assert visitor.act("answer", question=str(number), choice="1", csrf=mark).status_code == 303
    late = visitor.act("answer", question=str(number), choice="2", csrf=mark, sure="yes")
    assert late.status_code == 409 and f"question {number} was answered already" in late.text
    assert yard.item("S-1")["phase"] == "build"
    assert audit(yard)[-1][3].startswith("refused: question")


@pytest.mark.req("X8")
def test_what_cannot_be_undone_is_asked_once(yard: Yard, visitor: Visitor) -> None:
    number = question(yard, "retry", "cancel the story")
    mark = visitor.csrf()
    for verb, fields in (("cancel", {"story": "S-1"}), ("answer", {"question": str(number), "choice": "2"})):
        asked = visitor.act(verb, csrf=mark, **fields)
        assert asked.status_code == 200 and "Shall S-1 be cancelled?" in asked.text and 'name="sure"' in asked.text
    assert yard.item("S-1")["phase"] == "blocked" and audit(yard) == []
    done = visitor.act("cancel", story="S-1", csrf=mark, sure="yes")
    assert "S-1 is cancelled" in visitor.notice(done) and yard.item("S-1")["phase"] == "cancelled"


@pytest.mark.req("X8")
def test_a_story_that_has_moved_is_left_alone_and_the_conflict_is_named(yard: Yard, visitor: Visitor) -> None:
    yard.add(story("S-1"))
    claim(yard)
    landed(yard, "S-1")
    late = visitor.act("retry", story="S-1", expects="build 1")
    assert late.status_code == 409 and "S-1 has moved since the page was made: it was in build" in late.text
    assert "is in done now" in late.text and "Nothing was done" in late.text
    assert audit(yard)[-1][3].startswith("refused: S-1 has moved")


@pytest.mark.req("X8")
def test_hold_and_release(yard: Yard, visitor: Visitor) -> None:
    question(yard, "retry")
    assert "is held: a key was pushed" in visitor.notice(visitor.act("hold", words="a key was pushed"))
    assert yard.query("SELECT reason FROM repo_holds WHERE released_at IS NULL")[0]["reason"] == "a key was pushed"
    assert "goes on" in visitor.notice(visitor.act("release"))
    assert visitor.act("hold", words=" ").status_code == 409


@pytest.mark.req("X8")
def test_a_done_story_becomes_stale_and_done_again(yard: Yard, visitor: Visitor) -> None:
    yard.add(story("S-1"), story("S-2"))
    claim(yard, 2)
    landed(yard, "S-1")
    asks_first = visitor.act("change", story="S-1", words="cents now")
    assert "Shall S-1 become STALE?" in asks_first.text and "is on main as" in asks_first.text
    assert yard.item("S-1")["phase"] == "done"
    visitor.notice(visitor.act("change", story="S-1", words="cents now", sure="yes"))
    assert yard.item("S-1")["phase"] == "stale"
    visitor.notice(visitor.act("undo-change", story="S-1"))
    assert yard.item("S-1")["phase"] == "done"


@pytest.mark.req("X8")
def test_an_act_that_nobody_knows(yard: Yard, visitor: Visitor) -> None:
    question(yard, "retry")
    assert visitor.act("destroy", story="S-1").status_code == 404
    assert visitor.act("retry", story="S-99").status_code == 409
    assert visitor.act("answer", question="1e9", choice="1").status_code == 409
    assert stories.retry(yard.db, yard.app.project(yard.repo), "S-1").phase == "build"
