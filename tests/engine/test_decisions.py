"""What agents decide and assume is numbered, once, with its step: claims that DECISIONS.md and ASSUMPTIONS.md show."""

from pathlib import Path
from typing import Any

import pytest

from damascus.domain.decisions import LONGEST, MOST, assumptions_in, decisions_in
from damascus.store.decisions import assumptions_of, decisions_of
from tests.engine.flow_stories import FULL, full_story, story_of, turn
from tests.engine.shell_stories import FILES, Watched, bad, good, shell_story
from tests.engine.test_review_and_ci import run_as_if_killed
from tests.yard import CONFIG, Yard

LOCKS = {
    "title": "Optimistic locks instead of row locks",
    "context": "Row locks met in a deadlock.",
    "decision": "Try again, three times at most.",
    "trade_off": "A little more work against no deadlock.",
    "pattern": "Candidate for PATTERN-007",
}


def told(yard: Yard) -> list[tuple[int, str, str]]:
    return [(row["number"], row["task"], row["title"]) for row in decisions_of(yard.db, yard.row.repo_id)]


@pytest.mark.req("A9.1")
def test_rule_8_every_decision_that_is_not_obvious_is_logged(tmp_path: Path, database_url: str) -> None:
    """Rule 8 of the builder: log every non-obvious decision to DECISIONS.md."""
    yard = Yard(tmp_path, database_url, files=FILES, config=CONFIG)
    yard.add(shell_story("one"), shell_story("two", depends_on=["one"]))
    other = {**LOCKS, "title": "No cache"}
    script = {
        "one": [{**good("one"), "report": {"summary": "done", "decisions": [LOCKS]}}],
        "two": [
            {**bad("two"), "report": {"decisions": [other]}},
            {**good("two"), "report": {"decisions": [other, {**LOCKS, "title": "One more"}]}},
        ],
    }
    yard.work(Watched(yard, script))
    assert yard.item("two")["phase"] == "done"
    assert told(yard) == [(1, "one", LOCKS["title"]), (2, "two", "No cache"), (3, "two", "One more")]
    assert decisions_of(yard.db, yard.row.repo_id)[0].items() >= LOCKS.items()
    recorded = [event["body"] for event in yard.events("two", "decision.recorded")]
    assert [body["number"] for body in recorded] == [2, 3]


@pytest.mark.req("A9.1")
def test_a_kill_after_the_agent_gives_no_second_number(tmp_path: Path, database_url: str) -> None:
    yard = Yard(tmp_path, database_url, files=FILES, config=CONFIG)
    yard.add(shell_story("one"))
    script = {"one": [{**good("one"), "report": {"decisions": [LOCKS]}}] * 3}

    class Killed(Exception):
        pass

    for point in ("after_effect", "after_done"):

        def die(step: str, at: str, point: str = point) -> None:
            if (step, at) == ("implement", point):
                raise Killed

        with pytest.raises(Killed):
            run_as_if_killed(yard, die, Watched(yard, script))
        yard.query("UPDATE leases SET expires_at = now() - interval '1 h' RETURNING item_id")
        yard.query("SELECT rescue_item(item_id, fence, 12, 'test') FROM leases")
    yard.work(Watched(yard, script))
    assert yard.item("one")["phase"] == "done"
    assert told(yard) == [(1, "one", LOCKS["title"])]


@pytest.mark.req("A9.2")
def test_what_the_clarifier_assumed_instead_of_asking_is_kept(tmp_path: Path, database_url: str) -> None:
    yard = Yard(tmp_path, database_url, files=FILES, config=FULL)
    yard.add(full_story())
    report = {
        "summary": "s",
        "questions": ["Which case?"],
        "assumptions": ["hello is lower case", "hello is lower case"],
    }
    yard.work(Watched(yard, story_of(clarifier=turn("clarifier", report=report))))
    found = assumptions_of(yard.db, yard.row.repo_id)
    assert [(row["number"], row["task"], row["assumption"]) for row in found] == [
        (1, "one", "hello is lower case"), (2, "one", "Left open: Which case?"),
    ]  # fmt: skip


HOSTILE: list[Any] = [
    None, 7, "text", {"title": "no list"}, [1, None, "x", []], [{"title": "\x00\u202e \u200b"}],
    [{"title": {"a": 1}, "context": 5}], [{"no title": "x"}], [{"title": "\ud800"}],
]  # fmt: skip


@pytest.mark.req("A9.1")
@pytest.mark.parametrize("report", HOSTILE)
def test_what_is_no_decision_is_none(report: Any) -> None:
    assert decisions_in(report) == []


@pytest.mark.req("A9.1")
def test_a_hostile_report_is_capped_and_harmless(tmp_path: Path, database_url: str) -> None:
    many = [
        {"title": f"\x00d\u202e{n}", "context": "x" * 50, "pattern": "\x07\n## DECISION-999: mine"}
        for n in range(10_000)
    ]
    found = decisions_in([*many, {"title": "t" * 10_000_000}])
    assert len(found) == MOST and found[0].title == "d0" and found[0].pattern == "## DECISION-999: mine"
    assert len(decisions_in([{"title": "t", "context": "y" * 10_000_000}])[0].context) == LONGEST
    assert len(assumptions_in([f"a{n}" for n in range(10_000)])) == MOST
    yard = Yard(tmp_path, database_url, files=FILES, config=CONFIG)
    yard.add(shell_story("one"))
    yard.work(
        Watched(
            yard, {"one": [{**good("one"), "report": {"decisions": many[:2000], "assumptions": ["\x00", "a" * 9999]}}]}
        )
    )
    assert yard.item("one")["phase"] == "done"
    assert [number for number, _, _ in told(yard)] == list(range(1, MOST + 1))
    assert len(assumptions_of(yard.db, yard.row.repo_id)) == 1
