"""A person approves or sends back at the terminal: by the question's number, or by the story."""

from pathlib import Path

import pytest

from tests.cli.conftest import Cli
from tests.engine.shell_stories import FILES, Watched, config, good, shell_story
from tests.yard import PERSON, Yard

SETTING = '[review]\napproval = "person"\n'


@pytest.fixture
def yard(tmp_path: Path, database_url: str, monkeypatch: pytest.MonkeyPatch) -> Yard:
    made = Yard(tmp_path, database_url, files=FILES, config=config(SETTING))
    for name, value in (made.environ | PERSON).items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(made.repo)
    made.git("config", "user.name", "Ada")
    made.git("config", "user.email", "ada@example.invalid")
    made.add(shell_story("one"))
    made.work(Watched(made, {"one": [good("one")]}))
    return made


def number(yard: Yard) -> str:
    [row] = yard.query("SELECT id FROM human_issues WHERE closed_at IS NULL")
    return str(row["id"])


def goes_on(yard: Yard) -> str:
    yard.work(Watched(yard, {"one": [good("one")]}))
    return str(yard.item("one")["phase"])


def test_the_inbox_offers_all_three_with_what_they_do(yard: Yard, command: Cli) -> None:
    [issue] = command("inbox", "--json").json["issues"]
    assert [(each["id"], bool(each["effect"])) for each in issue["choices"]] == [
        ("approve", True),
        ("send_back", True),
        ("cancel", True),
    ]
    assert "approve it as it is" in command("inbox").out


@pytest.mark.parametrize("words", [("answer", "N", "approve"), ("answer", "N", "1"), ("approve", "one")])
def test_approved_it_lands_with_the_name_on_the_receipt(yard: Yard, command: Cli, words: tuple[str, ...]) -> None:
    done = command(*(number(yard) if word == "N" else word for word in words))
    assert done.code == 0 and "one is approved by Ada <ada@example.invalid>" in done.out
    assert goes_on(yard) == "done"
    assert command("receipt", "one", "--evidence").json["approval"]["by"] == "Ada <ada@example.invalid>"
    assert yard.questions() == []


@pytest.mark.parametrize(
    "words",
    [
        ("answer", "N", "send_back", "greet", "louder"),
        ("answer", "N", "2", "greet", "louder"),
        ("send-back", "one", "greet", "louder"),
    ],
)
def test_sent_back_its_agent_is_told(yard: Yard, command: Cli, words: tuple[str, ...]) -> None:
    done = command(*(number(yard) if word == "N" else word for word in words))
    assert done.code == 0 and "its agent is told: greet louder" in done.out
    agent = Watched(yard, {"one": [good("one")]})
    yard.work(agent)
    assert "greet louder" in agent.given[0][1]
    assert yard.item("one")["phase"] == "blocked", "what it makes of it is asked about again"


def test_sent_back_without_words_is_refused(yard: Yard, command: Cli) -> None:
    asked = ("answer", number(yard))
    for words in ((*asked, "send_back"), (*asked, "2"), ("send-back", "one"), ("send-back", "one", "\u200b")):
        refused = command(*words)
        assert refused.code == 2 and "words" in refused.error.lower()
    assert len(yard.questions()) == 1


def test_own_words_that_begin_like_an_option_are_own_words(yard: Yard, command: Cli) -> None:
    assert command("answer", number(yard), "approve of nothing yet").code == 0
    assert yard.events("one", "story.approved") == []
    assert goes_on(yard) == "blocked"


def test_it_can_be_cancelled(yard: Yard, command: Cli) -> None:
    assert command("answer", number(yard), "cancel").code == 0
    assert yard.item("one")["phase"] == "cancelled"


def test_a_story_that_does_not_wait_is_refused(yard: Yard, command: Cli) -> None:
    command("approve", "one")
    refused = command("approve", "one")
    assert (refused.code, "does not wait for your approval" in refused.error) == (1, True)
    assert command("approve", "nobody").code == 1
