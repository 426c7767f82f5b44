"""A story that words an old test anew: green but for that, it asks a person; the answer is kept with what was shown."""

from pathlib import Path

import pytest

from tests.cli.conftest import Cli
from tests.yard import NO_PYTEST_CACHE, Yard, python, story

SUITE = f"PYTEST_DISABLE_PLUGIN_AUTOLOAD=1 {python()} -m pytest -q {NO_PYTEST_CACHE} tests"
SCOPE = ["calc.py", "m.py", "tests/"]
WORDED_ANEW = """
pathlib.Path("calc.py").write_text("def one():\\n    return 11\\n")
pathlib.Path("m.py").write_text("def value():\\n    return 42\\n")
test = pathlib.Path("tests/test_one.py")
test.write_text(test.read_text().replace("== 1\\n", "== 11\\n"))
pathlib.Path("tests/test_m.py").write_text(
    "from m import value\\n\\n\\ndef test_REQ_001_value():\\n    assert value() == 42\\n")
"""
REPAIRS = """
if brief["feedback"]:
    assert brief["feedback"]["failing_tests"] == ["tests/test_one.py::test_one"], brief["feedback"]
    pathlib.Path("calc.py").write_text("def one():\\n    return 1\\n")
    test = pathlib.Path("tests/test_one.py")
    test.write_text(test.read_text().replace("== 11\\n", "== 1\\n"))
    sys.exit(0)
"""


@pytest.fixture
def yard(tmp_path: Path, database_url: str, monkeypatch: pytest.MonkeyPatch) -> Yard:
    made = Yard(tmp_path, database_url)
    for name, value in made.environ.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(made.repo)
    made.add(story("S-1", scope=SCOPE, command=SUITE))
    return made


def number(yard: Yard) -> str:
    [row] = yard.query("SELECT id FROM human_issues WHERE closed_at IS NULL")
    return str(row["id"])


def asked(yard: Yard, body: str = WORDED_ANEW) -> str:
    agent = yard.agent(body)
    yard.work(agent)
    item = yard.item("S-1")
    assert (item["phase"], item["attempts"], item["last_verdict"]) == ("blocked", 0, "tests_weakened"), item
    return agent


@pytest.mark.req("D7", "W8")
def test_the_inbox_shows_old_and_new_and_an_accepted_change_lands(yard: Yard, command: Cli) -> None:
    agent = asked(yard)
    out = command("inbox").out
    assert "tests/test_one.py::test_one" in out
    assert "      -    assert one() == 1\n      +    assert one() == 11\n" in out
    assert "[1] accept the changed tests" in out
    assert (
        "S-1 goes on in phase build where it was: accept the changed tests." in command("answer", number(yard), "1").out
    )
    yard.work(agent)
    item = yard.item("S-1")
    assert (item["phase"], item["attempts"]) == ("done", 0), yard.questions()
    assert len(yard.events("S-1", "agent.started")) == 1
    assert "== 11" in (yard.on_main("tests/test_one.py") or "")


@pytest.mark.req("D7", "W8")
def test_a_change_that_is_sent_back_counts_and_its_agent_is_told_which_tests_hold(yard: Yard, command: Cli) -> None:
    asked(yard)
    assert command("answer", number(yard), "2").code == 0
    yard.work(yard.agent(REPAIRS + WORDED_ANEW))
    item = yard.item("S-1")
    assert (item["phase"], item["attempts"]) == ("done", 1), yard.questions()
    [event] = yard.events("S-1", "attempt.rejected")
    assert "A person answered: send it back: the old tests hold." in event["body"]["message"]
    assert "== 1" in (yard.on_main("tests/test_one.py") or "")


def test_an_accepted_change_is_known_when_main_moves_and_another_one_is_asked_about(yard: Yard, command: Cli) -> None:
    asked(yard)
    command("answer", number(yard), "1")
    yard.commit({"other.txt": "meanwhile\n"}, "a person's commit")
    yard.work(yard.agent(WORDED_ANEW))
    assert yard.item("S-1")["phase"] == "done", yard.questions()


def test_the_same_change_is_asked_about_again_after_a_plain_retry(yard: Yard, command: Cli) -> None:
    agent = asked(yard)
    assert command("retry", "S-1").code == 0
    asked(yard)
    assert agent


def test_a_mark_in_the_storys_own_files_is_no_answer(yard: Yard, command: Cli) -> None:
    """An accepted diff may hold the words that start a question about another one."""
    agent = asked(yard, WORDED_ANEW.replace("== 11\\n", "== 11  # Changed tests 0123456789abcdef: \\n"))
    question = yard.questions()[0]
    assert question.startswith("Changed tests ") and not question.startswith("Changed tests 0123456789abcdef")
    assert agent and command("inbox").code == 0
