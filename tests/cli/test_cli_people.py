"""inbox, answer, retry, cancel: what a person decides, and what it changes."""

import pytest

from damascus.domain.feedback import VerdictFeedback
from damascus.domain.policy import RETRY_OPTIONS
from damascus.domain.verdict import Verdict
from tests.cli import states
from tests.cli.conftest import Cli, everything, spec_file
from tests.yard import Yard, story


def blocked(yard: Yard, *options: str) -> int:
    yard.add(story("S-1", title="dark mode"))
    return states.asks(yard, states.claim(yard)[0], "Which one holds?", *options)


@pytest.mark.req("D15")
def test_the_inbox_has_all_that_a_person_needs_to_decide(yard: Yard, cli: Cli) -> None:
    yard.add(story("S-1", title="dark mode"), budget=1)
    feedback = VerdictFeedback(message="contrast is 4.5:1", failing_tests=["tests/test_theme.py::test_contrast"])
    states.rejected(yard, states.claim(yard)[0], Verdict.TESTS_FAILED, feedback)
    told = " ".join(cli("inbox").out.split())
    assert "S-1 dark mode · blocked after 1 of 1 tries, red: tests/test_theme.py::test_contrast" in told
    assert "contrast is 4.5:1" in told
    assert "[1] retry with a new budget [2] edit the spec and add it again [3] cancel the story" in told
    issue = cli("inbox", "--json").json["issues"][0]
    assert f"damascus answer {issue['id']} 1" in told and "damascus show S-1" in told
    assert issue["story_id"] == "S-1" and issue["options"] == list(RETRY_OPTIONS)
    assert issue["last_feedback"]["failing_tests"] == feedback.failing_tests


def test_an_empty_inbox_says_so(cli: Cli) -> None:
    assert "Nothing needs you." in cli("inbox").out
    assert cli("inbox", "--json").json == {"issues": []}


def test_an_answer_in_own_words_goes_to_the_next_agent(yard: Yard, cli: Cli) -> None:
    number = blocked(yard)
    ran = cli("answer", str(number), "REQ-003", "holds")
    assert ran.code == 0, ran.err
    assert "S-1 goes on in phase build with a new budget: REQ-003 holds" in ran.out
    row = yard.item("S-1")
    assert (row["phase"], row["state"], row["attempts"], row["answers"]) == ("build", "ready", 0, ["REQ-003 holds"])
    assert cli("inbox", "--json").json["issues"] == []
    assert yard.events("S-1", "issue.answered")[0]["body"]["answer"] == "REQ-003 holds"


def test_a_numbered_option_is_the_answer(yard: Yard, cli: Cli) -> None:
    number = blocked(yard, "REQ-003, drop the fixed colour", "REQ-005, accept 4.5:1")
    assert cli("answer", str(number), "2").code == 0
    assert yard.item("S-1")["answers"] == ["REQ-005, accept 4.5:1"]


def test_the_option_retry_is_no_news_for_an_agent(yard: Yard, cli: Cli) -> None:
    number = blocked(yard, *RETRY_OPTIONS)
    assert cli("answer", str(number), "1").code == 0
    row = yard.item("S-1")
    assert (row["phase"], row["answers"]) == ("build", [])


def test_the_option_edit_leaves_it_blocked_until_the_spec_is_added(yard: Yard, cli: Cli) -> None:
    number = blocked(yard, *RETRY_OPTIONS)
    ran = cli("answer", str(number), "2")
    assert ran.code == 0
    assert "S-1 stays blocked" in ran.out and "Next: damascus add specs/S-1.md" in ran.out
    assert yard.item("S-1")["phase"] == "blocked"
    assert len(yard.questions()) == 1
    assert cli("add", spec_file(yard, "S-1", title="darker mode")).code == 0
    assert yard.item("S-1")["phase"] == "build"
    assert yard.questions() == []


def test_the_option_cancel_cancels(yard: Yard, cli: Cli) -> None:
    number = blocked(yard, *RETRY_OPTIONS)
    assert "S-1 is cancelled" in cli("answer", str(number), "3").out
    assert yard.item("S-1")["phase"] == "cancelled"
    assert yard.questions() == []


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("99", "1"), "there is no question 99. See the open ones: damascus inbox"),
        (("{n}", "7"), "has the options 1 to 3; 7 is none of them"),
    ],
)
def test_an_answer_that_fits_nothing_changes_nothing(
    words: tuple[str, str], sentence: str, yard: Yard, cli: Cli
) -> None:
    number, before = blocked(yard, *RETRY_OPTIONS), everything(yard)
    ran = cli("answer", words[0].format(n=number), words[1])
    assert ran.code == 1 and sentence in ran.error
    assert yard.item("S-1")["phase"] == "blocked"
    assert everything(yard)["work_items"] == before["work_items"]


def test_a_question_is_answered_once(yard: Yard, cli: Cli) -> None:
    number = blocked(yard, *RETRY_OPTIONS)
    cli("answer", str(number), "1")
    ran = cli("answer", str(number), "3")
    assert ran.code == 1 and "was answered already" in ran.error
    assert yard.item("S-1")["phase"] == "build"


def test_retry_takes_a_story_from_its_worker(yard: Yard, cli: Cli) -> None:
    yard.add(story("S-1"))
    item = states.claim(yard)[0]
    ran = cli("retry", "s-1")
    assert ran.code == 0
    assert "S-1 goes on in phase build with a new budget. It was taken from the worker that had it." in ran.out
    assert yard.item("S-1")["fence"] > item.fence


def test_cancel_shuts_the_worker_out_and_says_where_the_work_is(yard: Yard, cli: Cli) -> None:
    yard.add(story("S-1"))
    states.claim(yard)
    ran = cli("cancel", "S-1")
    assert "S-1 is cancelled. The worker that had it is shut out." in ran.out
    assert "damascus rescue list S-1" in ran.out
    again = cli("cancel", "S-1")
    assert again.code == 1 and "S-1 is cancelled already" in again.error
    assert cli("retry", "S-1").code == 1
