"""The merge queue with real git: stories tested on top of each other, landed in order, nobody blamed for another."""

import threading
from pathlib import Path
from typing import Any

import pytest

from damascus.store import people
from tests.engine.shell_stories import FILES, Watched, bad, config, good, shell_story
from tests.waiting import eventually
from tests.yard import Yard

WHOLE = '[ci.jobs]\nwhole = "! grep -q forbidden *.sh"\n'


def entries(yard: Yard) -> list[dict[str, Any]]:
    return yard.query(
        "SELECT i.story_id, e.base, e.commit, e.state FROM queue_entries e JOIN work_items i ON i.id = e.item_id "
        "ORDER BY e.pos"
    )


def after(yard: Yard, first: str, others: tuple[str, ...]) -> Any:
    """Agents of `others` begin once `first` is in the queue."""

    def before(brief: Any, _: Path) -> None:
        if brief.story_id in others and brief.attempt == 1:
            there = lambda: first in [entry["story_id"] for entry in entries(yard)]  # noqa: E731
            eventually(there, what=f"{first} in the queue")

    return before


class Meeting:
    """Both must be at a step at the same time; what the queue is then is kept."""

    def __init__(self, yard: Yard, step: str, count: int = 2) -> None:
        self.step, self.seen = step, [dict[str, Any]()]
        self.barrier = threading.Barrier(count, action=lambda: self.seen.extend(entries(yard)))
        self.left = count
        self.lock = threading.Lock()

    def __call__(self, step: str, point: str) -> None:
        if step != self.step or not point.startswith("before"):
            return
        with self.lock:
            self.left -= 1
            meets = self.left >= 0
        if meets:
            self.barrier.wait(30)


@pytest.mark.req("W1", "D17")
def test_two_stories_are_tested_at_once_one_on_top_of_the_other(tmp_path: Path, database_url: str) -> None:
    yard = Yard(tmp_path, database_url, files=FILES, config=config())
    yard.add(shell_story("one"), shell_story("two"))
    meeting = Meeting(yard, "verify")
    start = yard.main()
    yard.work(Watched(yard, {"one": [good("one")], "two": [good("two")]}), boundary=meeting)
    _, first, second = meeting.seen
    assert (first["base"], second["base"]) == (start, first["commit"])
    assert yard.main() == second["commit"] and yard.git("rev-parse", "main~1") == first["commit"]
    for name in ("one", "two"):
        item = yard.item(name)
        assert (item["phase"], item["attempts"]) == ("done", 0)
        [ci] = yard.events(name, "ci.finished")
        assert ci["body"]["commit"] == item["merged_commit"], "exactly what was tested is on main"
    assert entries(yard) == []


@pytest.mark.req("W1", "D16")
def test_who_is_tested_on_top_of_a_bad_one_is_not_sent_back_for_it(tmp_path: Path, database_url: str) -> None:
    yard = Yard(tmp_path, database_url, files=FILES, config=config(WHOLE))
    yard.add(shell_story("one"), shell_story("two"))
    first = good("one")
    first["write"]["one.sh"] = "# forbidden\necho hello one\n"
    agent = Watched(yard, {"one": [first, good("one")], "two": [good("two")]}, after(yard, "one", ("two",)))
    yard.work(agent, boundary=Meeting(yard, "ci"))
    assert (yard.item("one")["phase"], yard.item("one")["attempts"]) == ("done", 1)
    assert (yard.item("two")["phase"], yard.item("two")["attempts"]) == ("done", 0)
    [rejected] = yard.events("one", "attempt.rejected")
    assert rejected["body"]["verdict"] == "ci_failed"
    jobs = [ci["body"]["jobs"]["whole"] for ci in yard.events("two", "ci.finished")]
    assert jobs[-1] == "success", "what landed was tested without the bad one"
    [queue] = yard.query("SELECT width FROM queues")
    assert queue["width"] == 4 // 2 + 2, "halved by the one that was sent back, one more for each that landed"


@pytest.mark.req("D16")
def test_tests_that_fail_on_top_of_main_are_the_storys_own(tmp_path: Path, database_url: str) -> None:
    yard = Yard(tmp_path, database_url, files=FILES, config=config())
    yard.add(shell_story("one"))
    yard.work(Watched(yard, {"one": [bad("one"), good("one")]}))
    assert (yard.item("one")["phase"], yard.item("one")["attempts"]) == ("done", 1)


@pytest.mark.req("W1")
def test_a_push_by_hand_builds_those_in_line_anew_and_sends_nobody_back(tmp_path: Path, database_url: str) -> None:
    yard = Yard(tmp_path, database_url, files=FILES, config=config())
    yard.add(shell_story("one"), shell_story("two"))
    meeting, pushed = Meeting(yard, "verify"), list[str]()
    lock = threading.Lock()

    def boundary(step: str, point: str) -> None:
        meeting(step, point)
        if step == "land" and point == "after_intent":
            with lock:
                if not pushed:
                    pushed.append(yard.commit({"by-hand": "x\n"}, "by hand"))

    yard.work(Watched(yard, {"one": [good("one")], "two": [good("two")]}), boundary=boundary)
    assert {yard.item(name)["phase"] for name in ("one", "two")} == {"done"}
    assert {yard.item(name)["attempts"] for name in ("one", "two")} == {0}
    assert yard.git("rev-parse", "main~2") == pushed[0]
    for name in ("one", "two"):
        tested = [ci["body"]["commit"] for ci in yard.events(name, "ci.finished")]
        assert len(tested) == 2 and tested[-1] == yard.item(name)["merged_commit"]


@pytest.mark.req("W1", "X4")
def test_before_anyone_is_blamed_main_itself_is_looked_at(tmp_path: Path, database_url: str) -> None:
    files = {**FILES, "old.sh": "# forbidden\n"}
    yard = Yard(tmp_path, database_url, files=files, config=config(WHOLE))
    yard.add(shell_story("one"))
    yard.work(Watched(yard, {"one": [good("one")]}))
    item = yard.item("one")
    assert (item["phase"], item["attempts"]) == ("blocked", 0)
    [asked] = yard.questions()
    assert "main itself is red" in asked and "whole" in asked
    yard.commit({"old.sh": "# mended\n"}, "mend main")
    people.retry(yard.db, yard.row.id, "one")
    yard.work(Watched(yard, {"one": [good("one")]}))
    assert (yard.item("one")["phase"], yard.item("one")["attempts"]) == ("done", 0)


@pytest.mark.req("W16")
def test_a_cancelled_story_leaves_the_line_and_the_others_go_on(tmp_path: Path, database_url: str) -> None:
    yard = Yard(tmp_path, database_url, files=FILES, config=config())
    yard.add(shell_story("one"), shell_story("two"))
    agent = Watched(yard, {"one": [good("one")], "two": [good("two")]}, after(yard, "one", ("two",)))
    meeting, cancelled = Meeting(yard, "verify"), list[str]()
    lock = threading.Lock()

    def boundary(step: str, point: str) -> None:
        meeting(step, point)
        if step == "push" and point == "before_intent":
            with lock:
                if not cancelled:
                    people.cancel(yard.db, yard.row.id, "one")
                    cancelled.append("one")

    yard.work(agent, boundary=boundary)
    assert (yard.item("one")["phase"], yard.item("two")["phase"]) == ("cancelled", "done")
    assert yard.on_main("one.sh") is None and yard.on_main("two.sh") == "echo hello two"


@pytest.mark.req("W16")
def test_who_has_no_place_looks_for_one_by_itself(tmp_path: Path, database_url: str) -> None:
    """The story that was woken for a free place never took it, and so nobody tells the next."""
    yard = Yard(tmp_path, database_url, files=FILES, config=config("[queue]\nwindow = 1\n"))
    yard.add(shell_story("one"), shell_story("ahead"))
    people.cancel(yard.db, yard.row.id, "ahead")
    there = yard.item("ahead")
    queue = "INSERT INTO queues (repo_id, target) VALUES (%s, 'main') ON CONFLICT DO NOTHING RETURNING 1"
    yard.query(queue, there["repo_id"])
    yard.query(
        "INSERT INTO queue_entries (item_id, repo_id, target, base, commit, state)"
        " VALUES (%s, %s, 'main', %s, %s, 'testing') RETURNING 1", there["id"], there["repo_id"], *[yard.main()] * 2,
    )  # fmt: skip
    working = threading.Thread(target=yard.work, args=(Watched(yard, {"one": [good("one")]}),))
    working.start()
    try:
        eventually(lambda: yard.item("one")["wait_kind"] == "landing", what="the story to wait")
        assert yard.item("one")["not_before"] is not None
    finally:
        yard.query("DELETE FROM queue_entries RETURNING 1")
        eventually(
            lambda: (
                yard.query(
                    "UPDATE work_items SET not_before = now() "
                    "WHERE story_id = 'one' AND wait_kind = 'landing' RETURNING 1"
                )
                or yard.item("one")["phase"] == "done"
            ),
            what="time to pass",
        )
        working.join(60)
    assert (yard.item("one")["phase"], yard.item("one")["attempts"]) == ("done", 0)
