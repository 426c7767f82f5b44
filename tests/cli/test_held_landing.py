"""A file of the person's holds a landing: it is asked, it counts as idle, and it closes by itself."""

import pytest

from tests.cli.conftest import Cli
from tests.yard import Yard, story

WRITES = """
pathlib.Path('calc.py').write_text('def one():\\n    return 1\\n\\n\\ndef two():\\n    return 2\\n')
pathlib.Path('tests/test_two.py').write_text(
    'from calc import two\\n\\n\\ndef test_REQ_001():\\n    assert two() == 2\\n')
"""


def dirty(yard: Yard) -> str:
    """A story that is proved while the person has calc.py open."""
    yard.add(story("S-1", scope=["calc.py", "tests/test_two.py"]))
    yard.write({"calc.py": "def one():\n    return 1  # mine\n"})
    return yard.agent(WRITES)


@pytest.mark.req("X4")
def test_a_run_until_idle_ends_with_the_file_named_and_exit_1(yard: Yard, cli: Cli) -> None:
    ran = cli("run", "--until-idle", "--agent", "command", "--agent-command", dirty(yard))
    assert ran.code == 1, ran.out + ran.err
    assert "S-1 is proved and can't land: calc.py is in the way." in ran.out and "damascus inbox" in ran.out
    assert yard.item("S-1")["wait_kind"] == "dirty"
    told = " ".join(cli("inbox").out.split())
    assert "S-1 can't land: main is checked out in" in told and "Commit or stash that file" in told
    assert "Nothing needs you" not in told


@pytest.mark.req("X4")
def test_it_is_asked_once_and_the_question_closes_by_itself_when_the_story_lands(yard: Yard, cli: Cli) -> None:
    agent = dirty(yard)
    for _ in range(2):  # a worker that starts looks at once
        yard.work(agent)
        assert len(yard.questions()) == 1
    assert len(yard.query("SELECT id FROM human_issues")) == 1
    yard.git("checkout", "--", "calc.py")
    yard.work(agent)
    assert yard.item("S-1")["phase"] == "done"
    assert yard.questions() == [] and "Nothing needs you" in cli("inbox").out
    assert yard.events("S-1", "issue.answered")[0]["body"]["answer"] == "it is out of the way"


def test_another_file_is_another_question(yard: Yard, cli: Cli) -> None:
    agent = dirty(yard)
    yard.work(agent)
    yard.git("checkout", "--", "calc.py")
    yard.write({"tests/test_two.py": "mine\n"})
    yard.work(agent)
    [asked] = yard.questions()
    assert "tests/test_two.py" in asked and "Move that file away" in asked


@pytest.mark.parametrize("said", ["1", "land_now", "I have committed it"])
def test_an_answer_looks_at_once_and_sends_no_agent(said: str, yard: Yard, cli: Cli) -> None:
    agent = dirty(yard)
    yard.work(agent)
    yard.git("checkout", "--", "calc.py")
    [row] = yard.query("SELECT id FROM human_issues WHERE closed_at IS NULL")
    ran = cli("answer", str(row["id"]), said)
    assert ran.code == 0 and "S-1 is landed as soon as" in ran.out
    yard.work(agent)
    sent = yard.query("SELECT 1 FROM journal WHERE step = 'implement'")
    assert (yard.item("S-1")["phase"], len(sent)) == ("done", 1)


def test_cancelling_the_story_closes_its_question(yard: Yard, cli: Cli) -> None:
    yard.work(dirty(yard))
    assert cli("cancel", "S-1").code == 0
    assert yard.questions() == []
