"""`damascus ship`: declared by a person, everything stops, main is verified, the verdict is computed and kept."""

from pathlib import Path

import pytest

from damascus.people import release_checks, shipping
from tests.cli.conftest import Cli
from tests.engine.shell_stories import Watched
from tests.yard import CONFIG, PERSON, Yard, python, story

SUITE = CONFIG.replace('command = "none"', f'command = "{python()} -m pytest -q -p no:cacheprovider tests"')
SUITE = SUITE.replace("coverage.project = 0", "coverage.project = 50")
ROW = "| TC-1 | it says hello | unit | tests/test_one.py | |\n"
CONTRACT = f"\n## Test Contract\n| TC | Behaviour | Kind | Test file | Command |\n|---|---|---|---|---|\n{ROW}"
TEST = "from one import say\n\n\ndef test_REQ_001_one():\n    assert say() == 'hello'\n"
WRITES = {"write": {"one.py": "def say():\n    return 'hello'\n", "tests/test_one.py": TEST}}
DECLARE = ("ship", "--by", "Ada", "--note", "the first")


@pytest.fixture
def yard(tmp_path: Path, database_url: str, monkeypatch: pytest.MonkeyPatch) -> Yard:
    start = {"tests/test_start.py": "def test_start():\n    assert True\n", ".gitignore": "__pycache__/\n"}
    made = Yard(tmp_path, database_url, files=start, config=SUITE)
    for name, value in (made.environ | PERSON).items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(made.repo)
    made.add(story("one") + CONTRACT)
    made.work(Watched(made, {"one": [WRITES]}))
    assert made.item("one")["phase"] == "done", made.questions()
    return made


@pytest.mark.req("A2.5", "A2.6")
def test_main_is_verified_and_what_nobody_vouches_for_makes_it_conditional(yard: Yard, command: Cli) -> None:
    done = command(*DECLARE, "--json")
    told = done.json
    [repo], [task] = told["repositories"], told["tasks"]
    assert done.code == 0 and told["verdict"] == "CONDITIONAL" and told["red"] == []
    assert repo["commit"] == yard.main() and repo["suite"]["state"] == "passed"
    assert repo["coverage"] == {"percent": 100.0, "wanted": 50}
    assert [(one["task"], one["name"], one["state"]) for one in repo["contracts"]] == [("one", "TC-1", "passed")]
    assert (task["story"], task["status"], task["commit"]) == ("one", "DONE", yard.item("one")["merged_commit"])
    assert any("one was read by no security-reviewer" in name for name in told["unverified"])
    assert "Halted: SHIP was declared (everything" in " ".join(command("status").out.split())
    assert command("ship", "--show", "--json").json == told
    again = command(*DECLARE)
    assert again.code == 1 and "SHIP was declared by Ada already, and the verdict is CONDITIONAL" in again.error


@pytest.mark.req("A2.5")
def test_nothing_is_begun_until_it_is_taken_back(yard: Yard, command: Cli) -> None:
    yard.add(story("two"))
    done = command(*DECLARE)
    assert done.code == 1 and "red: two is PENDING" in done.out and "NO-SHIP" in done.out
    agent = Watched(yard, {"two": [{"exit": 1}] * 9})
    yard.work(agent)
    assert agent.given == [] and yard.item("two")["wait_kind"] == "hold"
    released = command("release")
    assert released.code == 1 and "damascus ship --undo" in released.error
    assert command("ship", "--undo").code == 0
    yard.work(agent)
    assert agent.given
    assert command("ship", "--undo").code == 1 and command("ship", "--show").code == 1


@pytest.mark.req("A2.5")
def test_a_red_main_is_no_ship_whatever_the_receipts_say(yard: Yard, command: Cli) -> None:
    yard.commit({"one.py": "def say():\n    return 'bye'\n"}, "by hand")
    told = command(*DECLARE, "--json")
    assert told.code == 1 and told.json["verdict"] == "NO-SHIP"
    assert any(name.startswith(f"{yard.row.repo}: suite: exit") for name in told.json["red"])
    assert any("one TC-1" in name for name in told.json["red"])
    [task] = told.json["tasks"]
    assert task["status"] == "STALE" and yard.item("one")["phase"] == "stale", "nobody says DONE of it any more"
    [event] = yard.query("SELECT body FROM events_outbox WHERE kind = 'regression.found'")
    assert event["body"]["tests"] == ["tests/test_one.py::test_REQ_001_one"]
    assert event["body"]["commit"] == yard.main() and "one.py" in event["body"]["files"]


@pytest.mark.req("A2.5")
def test_killed_before_the_verdict_the_same_command_goes_on(
    yard: Yard, command: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    def dies(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(release_checks.MainVerified, "verify", dies)
        with pytest.raises(KeyboardInterrupt):
            shipping.ship(yard.app, yard.project, "Ada", "the first", lambda _: None)
    [row] = yard.query("SELECT verdict, declared_by FROM ships")
    assert row == {"verdict": None, "declared_by": "Ada"}
    assert "main is not verified yet" in command("ship", "--show").error
    done = command("ship", "--by", "Bob", "--json")
    assert done.json["declared_by"] == "Ada" and done.json["verdict"] == "CONDITIONAL"
    assert len(yard.query("SELECT 1 FROM ships")) == 1


@pytest.mark.parametrize("words", [(), ("--by", ""), ("--by", "Ada", "--undo"), ("--undo", "--show")])
def test_a_slip_is_one_sentence(yard: Yard, command: Cli, words: tuple[str, ...]) -> None:
    ran = command("ship", *words)
    assert ran.code == 2 and "say who declares it, or --show, or --undo" in ran.error
    assert yard.query("SELECT 1 FROM ships") == []
