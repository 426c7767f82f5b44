"""Trouble outside a story: it waits, nothing is charged, and after 24 hours a person is asked."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.engine.shell_stories import FILES, Watched, bad, config, good, shell_story
from tests.yard import Yard

SWIFT = config("[retry]\ncall_first_seconds = 0.0\n")


@pytest.fixture
def yard(tmp_path: Path, database_url: str) -> Yard:
    return Yard(tmp_path, database_url, files=FILES, config=SWIFT)


def no_waiting(yard: Yard, act: Callable[[], object] | None = None) -> Callable[[str, str], None]:
    """After each settle: `act`, and every wait is over at once."""

    def boundary(step: str, point: str) -> None:
        if (step, point) == ("settle", "after"):
            if act is not None:
                act()
            yard.query("UPDATE work_items SET not_before = now() WHERE not_before IS NOT NULL RETURNING id")

    return boundary


@pytest.mark.req("T1", "T2", "W19")
def test_exit_75_waits_and_charges_nothing(yard: Yard) -> None:
    yard.add(shell_story("one"))
    waits: list[dict[str, object]] = []

    def look() -> None:
        waits.extend(yard.query("SELECT * FROM work_items WHERE wait_kind = 'backoff'"))

    yard.work(
        Watched(yard, {"one": [bad("one"), {"exit": 75}, {"exit": 75}, good("one")]}), boundary=no_waiting(yard, look)
    )
    item = yard.item("one")
    assert (item["phase"], item["attempts"], item["last_verdict"]) == ("done", 1, "passed")
    assert [(row["attempts"], row["phase"], row["last_verdict"], row["series_count"]) for row in waits] == [
        (1, "build", "tests_failed", 1), (1, "build", "tests_failed", 2),
    ]  # fmt: skip
    pauses = [(row["not_before"] - row["updated_at"]).total_seconds() for row in waits]  # type: ignore[operator]
    assert [round(pause) for pause in pauses] == [1, 2]
    retries = [row["body"] for row in yard.events("one", "phase.transient_retry")]
    assert [body["count"] for body in retries] == [1, 2] and "exit 75" in retries[0]["reason"]
    assert yard.query("SELECT * FROM human_issues") == []


@pytest.mark.req("T2", "D13")
def test_a_transient_failure_does_not_wipe_what_the_last_attempt_said(yard: Yard) -> None:
    yard.add(shell_story("one"))
    agent = Watched(yard, {"one": [bad("one"), {"exit": 75}, good("one")]})
    yard.work(agent, boundary=no_waiting(yard))
    brief = agent.given[2][0]
    assert brief.attempt == 2 and brief.feedback is not None and brief.feedback.test_output == "it says bye\n"
    assert brief.feedback.transient is True and brief.checkpoint["last_verdict"] == "tests_failed"


@pytest.mark.req("T3")
def test_trouble_for_over_24_hours_blocks_and_asks(yard: Yard) -> None:
    yard.add(shell_story("one"))

    def a_day_later() -> None:
        yard.query("UPDATE work_items SET series_since = series_since - interval '25 hours' RETURNING id")

    yard.work(Watched(yard, {"one": [{"exit": 75}]}), boundary=no_waiting(yard, a_day_later))
    item = yard.item("one")
    assert (item["phase"], item["attempts"], item["last_verdict"], item["resume_phase"]) == (
        "blocked",
        0,
        None,
        "build",
    )
    assert len(yard.events("one", "blocked.transient")) == 1
    [question] = yard.questions()
    assert "trouble outside it for over 24 h" in question and "exit 75" in question


@pytest.mark.req("T2", "T3")
def test_success_ends_a_series(yard: Yard) -> None:
    """A structural failure in between, too: the next trouble starts a series of its own."""
    yard.add(shell_story("one"))

    def a_day_later() -> None:
        yard.query("UPDATE work_items SET series_since = series_since - interval '23 hours' RETURNING id")

    tries = [{"exit": 75}, bad("one"), {"exit": 75}, good("one")]
    yard.work(Watched(yard, {"one": tries}), boundary=no_waiting(yard, a_day_later))
    assert yard.item("one")["phase"] == "done"
    assert [row["body"]["count"] for row in yard.events("one", "phase.transient_retry")] == [1, 1]


@pytest.mark.req("T1", "T2")
@pytest.mark.parametrize("step", ["prepare", "red", "land"])
def test_a_repository_that_is_away_for_a_while_is_transient(yard: Yard, step: str) -> None:
    yard.add(shell_story("one"))
    here, away = yard.repo / ".git", yard.repo / ".git-away"
    gone: list[str] = []

    def come_back() -> None:
        if away.exists():
            gone.append(yard.item("one")["wait_key"])
            away.rename(here)

    settled = no_waiting(yard, come_back)

    def boundary(name: str, point: str) -> None:
        if name == step and point.startswith("before") and not gone and not away.exists():
            here.rename(away)
        settled(name, point)

    yard.work(Watched(yard, {"one": [good("one")]}), boundary=boundary)
    item = yard.item("one")
    assert len(gone) == 1 and gone[0], "the story waited, with a reason"
    assert (item["phase"], item["attempts"]) == ("done", 0)
    assert len(yard.events("one", "phase.transient_retry")) == 1 and yard.query("SELECT * FROM human_issues") == []
    assert yard.subjects().count("feat: Story one") == 1 and len(yard.events("one", "agent.started")) == 1


@pytest.mark.req("T1")
def test_an_agent_that_fails_or_hangs_is_structural(yard: Yard) -> None:
    yard.add(shell_story("one"), budget=1)
    yard.work(Watched(yard, {"one": [{"exit": 1, "say": "connection refused, 503"}]}))
    item = yard.item("one")
    assert (item["phase"], item["last_verdict"], item["last_feedback"]["exit_code"]) == ("blocked", "agent_failed", 1)
    assert yard.events("one", "phase.transient_retry") == []
