"""CI that is red on main itself is charged to no story, also where CI runs elsewhere."""

from pathlib import Path

import pytest

from tests.engine.elsewhere import GREEN, Elsewhere, Far, Look

RED = Look({"test": "failure"}, {"test": "no module named yaml"})


def red_stories(main: Look) -> Elsewhere:
    forge = Elsewhere(then=RED)
    forge.main = main
    return forge


@pytest.mark.req("W7", "D13")
def test_a_main_that_is_red_by_itself_blames_no_story(tmp_path: Path, database_url: str) -> None:
    far = Far(tmp_path, database_url, red_stories(RED))
    item = far.go()
    assert (item["phase"], item["attempts"], len(far.agent_seen.given)) == ("blocked", 0, 1)
    [question] = far.questions()
    assert "main itself is red" in question and "it is not blamed" in question
    assert far.events("one", "attempt.rejected") == []


@pytest.mark.req("W7")
def test_a_story_that_is_red_on_a_green_main_is_charged(tmp_path: Path, database_url: str) -> None:
    far = Far(tmp_path, database_url, red_stories(GREEN))
    assert far.go()["attempts"] > 0
