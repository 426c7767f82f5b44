"""What an attempt comes to: verdict, feedback, what the next one starts from."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from damascus.domain.ports import Brief
from tests.engine.shell_stories import FILES, Watched, bad, good, shell_story
from tests.waiting import eventually
from tests.yard import Yard


@pytest.fixture
def yard(tmp_path: Path, database_url: str) -> Yard:
    return Yard(tmp_path, database_url, files=FILES)


def last(yard: Yard, name: str) -> dict[str, Any]:
    feedback: dict[str, Any] = yard.item(name)["last_feedback"]
    return feedback


def rejections(yard: Yard, name: str) -> list[str]:
    return [row["body"]["verdict"] for row in yard.events(name, "attempt.rejected")]


@pytest.mark.req("D12", "D9", "D11", "A1")
def test_an_honest_story_lands_without_spending_anything(yard: Yard) -> None:
    yard.add(shell_story("one"))
    before = yard.main()
    yard.work(Watched(yard, {"one": [good("one")]}))
    item = yard.item("one")
    assert (item["phase"], item["attempts"], item["last_verdict"]) == ("done", 0, "passed")
    assert item["base_commit"] == before and item["merged_commit"] == yard.main() == item["candidate"]
    assert item["pr_url"] and yard.on_main("one.sh") == "echo hello one"
    kinds = [row["kind"] for row in yard.events("one")]
    told = ["build.committed", "build.pushed", "build.pr_opened", "phase.transitioned", "story.landed"]
    assert [kind for kind in kinds if kind in told] == [
        "build.committed", "build.pushed", "build.pr_opened", "phase.transitioned", "phase.transitioned",
        "phase.transitioned", "story.landed",
    ]  # fmt: skip
    assert all(kinds.count(kind) == 1 for kind in told if kind != "phase.transitioned")


@pytest.mark.req("D13", "D16", "D12")
def test_red_tests_send_back_with_their_output_and_the_partial_work(yard: Yard) -> None:
    yard.add(shell_story("one", scope=["one.sh", "tests/test_one.sh", "notes/"]))
    first = bad("one")
    first["write"]["notes/half.txt"] = "half done\n"
    second = good("one")
    del second["write"]["tests/test_one.sh"]
    agent = Watched(yard, {"one": [first, second]})
    base = yard.main()
    yard.work(agent, boundary=move_main_once(yard, "implement"))
    item = yard.item("one")
    assert (item["phase"], item["attempts"], item["last_verdict"]) == ("done", 1, "passed")
    [event] = yard.events("one", "attempt.rejected")
    assert (event["body"]["verdict"], event["body"]["attempt"]) == ("tests_failed", 1)
    brief, prompt, files = agent.given[1]
    assert brief.attempt == 2 and brief.feedback is not None
    assert sorted(brief.feedback.files_changed) == ["notes/half.txt", "one.sh", "tests/test_one.sh"]
    assert brief.feedback.test_output == "it says bye\n" and brief.feedback.message in prompt
    assert files["notes/half.txt"] == b"half done\n" and files["one.sh"] == b"echo bye\n"
    assert brief.base_commit == base != yard.main(), "the kept work keeps its base until the rebase"
    assert yard.on_main("notes/half.txt") == "half done" and yard.on_main("person.txt") == "hers"


def move_main_once(yard: Yard, step: str) -> Callable[[str, str], None]:
    """A person commits to main when the step is reached for the first time."""
    moved: list[str] = []

    def boundary(name: str, point: str) -> None:
        if name == step and point == "after_done" and not moved:
            moved.append(yard.commit({"person.txt": "hers\n"}, "by a person"))

    return boundary


@pytest.mark.req("D16")
def test_feedback_names_the_files_by_git_and_the_stories_they_touch(yard: Yard) -> None:
    """One story writes into another's scope while that one is in flight."""
    yard.add(shell_story("one"), shell_story("two"))
    tries = good("one")
    tries["write"]["two.sh"] = "echo mine now\n"

    def before(brief: Brief, workspace: Path) -> None:
        """The other is in flight until the first has been judged; the first begins once the other is."""
        judged = [given.attempt for given, _, _ in agent.given if given.story_id == "one"]
        if brief.story_id == "two":
            eventually(lambda: [g for g, _, _ in agent.given if g.story_id == "one" and g.attempt == 2], 30)
        elif judged == [1]:
            eventually(lambda: [g for g, _, _ in agent.given if g.story_id == "two"], 30)

    agent = Watched(yard, {"one": [tries, good("one")], "two": [good("two")]}, before)
    yard.work(agent, slots=2)
    assert rejections(yard, "one") == ["scope_violation"]
    seen = next(brief.feedback for brief, _, _ in agent.given if brief.story_id == "one" and brief.attempt == 2)
    assert seen is not None
    assert sorted(seen.files_changed) == ["one.sh", "tests/test_one.sh", "two.sh"]
    assert (seen.out_of_scope, seen.touches_stories) == (["two.sh"], ["two"])
    assert yard.item("one")["phase"] == yard.item("two")["phase"] == "done"
    assert yard.on_main("two.sh") == "echo hello two"


@pytest.mark.req("D8")
def test_a_conflict_gives_the_next_attempt_the_merge_on_main(yard: Yard) -> None:
    yard.commit({"shared.txt": "line\n"}, "shared")
    scope = ["one.sh", "tests/test_one.sh", "shared.txt"]
    yard.add(shell_story("one", scope=scope))
    ours = good("one", **{"shared.txt": "ours\n"})
    agent = Watched(yard, {"one": [ours, {"write": {"shared.txt": "theirs and ours\n"}}]})
    base, theirs = yard.main(), []

    def boundary(step: str, point: str) -> None:
        if step == "implement" and point == "after_done" and not theirs:
            theirs.append(yard.commit({"shared.txt": "theirs\n"}, "by a person"))

    yard.work(agent, boundary=boundary)
    item = yard.item("one")
    assert (item["phase"], item["attempts"], rejections(yard, "one")) == ("done", 1, ["rebase_conflict"])
    brief, prompt, files = agent.given[1]
    assert brief.feedback is not None and brief.feedback.conflict is not None
    conflict = brief.feedback.conflict
    assert (conflict.conflicting_files, conflict.their_sha) == (["shared.txt"], theirs[0])
    assert brief.base_commit == theirs[0] != base
    marked = files["shared.txt"].decode()
    assert "<<<<<<<" in marked and "ours" in marked and "theirs" in marked and ">>>>>>>" in marked
    assert "shared.txt" in prompt and files["one.sh"] == b"echo hello one\n"
    assert yard.on_main("shared.txt") == "theirs and ours"
    assert item["base_commit"] == theirs[0]


@pytest.mark.req("D8", "D12")
def test_after_a_clean_rebase_the_gates_run_again_and_only_that_commit_is_pushed(yard: Yard) -> None:
    """Main moved so that the story's test is red on top of it, without a conflict in any line."""
    yard.add(shell_story("one", scope=["one.sh", "tests/test_one.sh"]))
    tries = good("one")
    tries["write"]["tests/test_one.sh"] = '# REQ-001\ntest "$(sh one.sh)" = "hello one" && test ! -e flag\n'
    repaired = {"write": {"tests/test_one.sh": '# REQ-001\ntest "$(sh one.sh)" = "hello one"\n'}}
    moved: list[str] = []

    def boundary(step: str, point: str) -> None:
        if step == "red" and point == "after" and not moved:
            moved.append(yard.commit({"flag": "x\n"}, "a flag"))

    yard.work(Watched(yard, {"one": [tries, repaired]}), boundary=boundary)
    item = yard.item("one")
    assert (item["phase"], rejections(yard, "one")) == ("done", ["tests_failed"])
    pushed = [row["body"]["commit"] for row in yard.events("one", "build.pushed")]
    assert pushed == [item["merged_commit"]] and item["base_commit"] == moved[0]


@pytest.mark.req("D15")
def test_a_spent_budget_blocks_with_all_that_a_person_needs(yard: Yard) -> None:
    yard.add(shell_story("one"), budget=2)
    yard.work(Watched(yard, {"one": [bad("one"), bad("one", "other")]}))
    item = yard.item("one")
    assert (item["phase"], item["attempts"], item["last_verdict"]) == ("blocked", 2, "tests_failed")
    [question] = yard.questions()
    assert "one is blocked after 2 of 2 tries" in question and "tests_failed" in question
    assert len(yard.events("one", "blocked.exhausted")) == 1 and len(yard.events("one", "agent.started")) == 2
    assert sorted(last(yard, "one")["files_changed"]) == ["one.sh", "tests/test_one.sh"]
    yard.work(Watched(yard, {"one": [good("one")]}))
    assert len(yard.events("one", "agent.started")) == 2, "no further attempts"


@pytest.mark.req("T5")
def test_the_same_failure_three_times_trips_the_loop_breaker(yard: Yard) -> None:
    yard.add(shell_story("one"), budget=9)
    yard.work(Watched(yard, {"one": [{}]}))
    item = yard.item("one")
    assert (item["phase"], item["attempts"], item["failure_streak"]) == ("blocked", 3, 3)
    assert rejections(yard, "one") == ["nothing_changed"] * 3
    assert len(yard.events("one", "blocked.loop")) == 1 and "3 times in a row" in yard.questions()[0]


@pytest.mark.req("T1", "D7")
def test_a_test_that_prints_502_is_not_transient(yard: Yard) -> None:
    yard.add(shell_story("one"), budget=1)
    tries = bad("one", "502 Bad Gateway: connection refused, could not resolve host")
    tries["write"]["tests/test_one.sh"] += "sh one.sh; echo 503 Service Unavailable >&2; exit 1\n"
    yard.work(Watched(yard, {"one": [tries]}))
    item = yard.item("one")
    assert (item["phase"], item["attempts"], item["last_verdict"]) == ("blocked", 1, "tests_failed")
    assert "502 Bad Gateway" in last(yard, "one")["test_output"] and last(yard, "one")["transient"] is None
    assert yard.events("one", "phase.transient_retry") == []


@pytest.mark.req("D3")
def test_a_frozen_spec_that_does_not_parse_never_reaches_an_agent(yard: Yard) -> None:
    yard.add(shell_story("one"))
    yard.query("UPDATE work_items SET spec = convert_to(%s, 'UTF8') RETURNING id", "---\nstory: one\ntitle: x\n---\n")
    agent = Watched(yard, {"one": [good("one")]})
    yard.work(agent)
    item = yard.item("one")
    assert (item["phase"], item["last_verdict"], agent.given) == ("blocked", "spec_wrong", [])
    assert "has no scope" in yard.questions()[0]
