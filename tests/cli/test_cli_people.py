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


@pytest.mark.req("D15", "X8.1")
def test_the_inbox_has_all_that_a_person_needs_to_decide(yard: Yard, cli: Cli) -> None:
    yard.add(story("S-1", title="dark mode"), budget=1)
    feedback = VerdictFeedback(message="contrast is 4.5:1", failing_tests=["tests/test_theme.py::test_contrast"])
    states.rejected(yard, states.claim(yard)[0], Verdict.TESTS_FAILED, feedback)
    told = " ".join(cli("inbox").out.split())
    assert "S-1 dark mode · blocked after 1 of 1 tries, red: tests/test_theme.py::test_contrast" in told
    assert "contrast is 4.5:1" in told
    assert "[1] retry with a new budget (a new run with a new budget of tries; your words, if you add any" in told
    assert "[3] cancel the story (the story ends; what an agent wrote is kept)" in told
    issue = cli("inbox", "--json").json["issues"][0]
    assert f"damascus answer {issue['id']} 1" in told and "damascus show S-1" in told
    assert issue["story_id"] == "S-1" and issue["options"] == list(RETRY_OPTIONS)
    assert [(one["number"], one["id"]) for one in issue["choices"]] == [(1, "retry"), (2, "edit_spec"), (3, "cancel")]
    assert issue["last_feedback"]["failing_tests"] == feedback.failing_tests


def test_a_test_that_is_green_and_proves_nothing_is_not_called_red(yard: Yard, cli: Cli) -> None:
    yard.add(story("S-1", title="dark mode"), budget=1)
    feedback = VerdictFeedback(message="it passes with every function emptied", failing_tests=["test_a.py::test_b"])
    states.rejected(yard, states.claim(yard)[0], Verdict.CODE_UNPROVED, feedback)
    told = " ".join(cli("inbox").out.split())
    assert "1 of 1 tries, unproved: test_a.py::test_b" in told and "red: test_a.py" not in told
    assert "unproved tests: test_a.py::test_b" in cli("show", "S-1").out


def test_why_an_agent_gave_up_is_told_in_its_last_words(yard: Yard, cli: Cli) -> None:
    """Of its stderr, where a program says it; in one line of limited length."""
    yard.add(story("S-1"), budget=1)
    gives_up = "import sys; print('working', flush=True); sys.exit('trace\\nwhat is\\tbeta?' + '!' * 3000)"
    cli("run", "--until-idle", "--agent", "command", "--agent-command", yard.agent(gives_up))
    for verb in (("why", "S-1"), ("inbox",)):
        told = " ".join(cli(*verb).out.split())
        assert "agent_failed: the agent exited 1, saying: what is beta?!!!" in told, told
        assert "working" not in told and len(told) < 2000


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


@pytest.mark.req("D15")
@pytest.mark.parametrize(
    "words", ["cancel the old cache and use lru_cache", "retry the call three times", "edit the spec file of S-2 too"]
)
def test_own_words_are_never_taken_for_an_option(words: str, yard: Yard, cli: Cli) -> None:
    number = blocked(yard, *RETRY_OPTIONS)
    assert cli("answer", str(number), *words.split()).code == 0
    row = yard.item("S-1")
    assert (row["phase"], row["answers"]) == ("build", [words])


@pytest.mark.req("D15")
def test_an_option_can_be_chosen_by_its_id_and_words_go_with_it(yard: Yard, cli: Cli) -> None:
    number = blocked(yard, *RETRY_OPTIONS)
    assert cli("answer", str(number), "1", "look", "at", "lib/").code == 0
    assert yard.item("S-1")["answers"] == ["look at lib/"]
    again = states.asks(yard, states.claim(yard)[0], "And now?", *RETRY_OPTIONS)
    assert "S-1 is cancelled" in cli("answer", str(again), "cancel").out


@pytest.mark.req("D15", "X3")
def test_one_answer_for_all_that_offer_it(yard: Yard, cli: Cli) -> None:
    yard.add(story("S-1"), story("S-2"), story("S-3"))
    items = {item.story_id: item for item in states.claim(yard, 3)}
    states.asks(yard, items["S-1"], "No key.", *RETRY_OPTIONS)
    states.asks(yard, items["S-2"], "No key.", *RETRY_OPTIONS)
    other = states.asks(yard, items["S-3"], "Which colour?", "red", "blue")
    ran = cli("answer", "--all", "1")
    assert ran.code == 0 and "2 questions are answered: retry with a new budget" in ran.out and "1 are left" in ran.out
    assert [yard.item(name)["phase"] for name in ("S-1", "S-2", "S-3")] == ["build", "build", "blocked"]
    assert cli("answer", "--all", "7").error == "error: no open question has an option '7'. See them: damascus inbox"
    assert cli("answer", str(other)).code == 2 and cli("answer", "one", "1").code == 2


@pytest.mark.req("D15", "X3")
def test_retry_all_after_a_common_cause(yard: Yard, cli: Cli) -> None:
    yard.add(story("S-1"), story("S-2"), budget=1)
    for item in states.claim(yard, 2):
        verdict = Verdict.AGENT_FAILED if item.story_id == "S-1" else Verdict.TESTS_FAILED
        states.rejected(yard, item, verdict, VerdictFeedback(message="no"))
    ran = cli("retry", "--all", "--verdict", "agent_failed", "--with", "the key is there now")
    assert ran.code == 0 and "1 go on with a new budget: S-1." in ran.out
    assert (yard.item("S-1")["phase"], yard.item("S-1")["answers"]) == ("build", ["the key is there now"])
    assert yard.item("S-2")["phase"] == "blocked"
    for words in (("--all", "S-1"), (), ("--verdict", "tests_failed", "S-2"), ("--all", "--verdict", "nonsense")):
        assert cli("retry", *words).code == 2
    assert cli("retry", "--all").code == 0
    assert "no story is blocked" in cli("retry", "--all").error


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
        (("9" * 19, "1"), f"there is no question {'9' * 19}. See the open ones: damascus inbox"),
        (("9" * 100, "1"), f"there is no question {'9' * 100}. See the open ones: damascus inbox"),
        (("{n}", "9" * 5000), "has the options 1 to 3; "),
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
