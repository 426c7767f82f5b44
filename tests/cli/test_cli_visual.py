"""A story that changes how a page looks: green but for that, it shows its pictures; a person's word is kept for all."""

import json
import re
from pathlib import Path

import pytest
from PIL import Image

from tests.browser import need_browser
from tests.cli.conftest import Cli
from tests.yard import CONFIG, NO_PYTEST_CACHE, Yard, python, story

pytestmark = pytest.mark.req("A6.2", "W8")
SUITE = f"PYTEST_DISABLE_PLUGIN_AUTOLOAD=1 {python()} -m pytest -q {NO_PYTEST_CACHE} tests"
PAGE = "<!doctype html><title>shop</title><h1>Shop</h1>"
AGENT = """
name = brief["story_id"].lower().replace("-", "")
pathlib.Path(f"{name}.py").write_text("def value():\\n    return 42\\n")
pathlib.Path(f"tests/test_{name}.py").write_text(
    f"from {name} import value\\n\\n\\ndef test_REQ_001_value():\\n    assert value() == 42\\n")
"""
TURNS = """
colour = "orange" if "orange" in json.dumps(brief) else COLOUR
pathlib.Path("site/index.html").write_text(f"<!doctype html><body style='background: {colour}'><h1>Shop</h1>")
"""


@pytest.fixture
def yard(tmp_path: Path, database_url: str, monkeypatch: pytest.MonkeyPatch) -> Yard:
    need_browser()
    made = Yard(tmp_path, database_url)
    visual = '[visual]\npages = ["site/index.html"]\nviewport = "400x300"\n'
    made.commit({"site/index.html": PAGE, "damascus.toml": CONFIG + visual}, "a page")
    for name, value in made.environ.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(made.repo)
    return made


def add(yard: Yard, name: str) -> None:
    own = name.lower().replace("-", "")
    yard.add(story(name, scope=[f"{own}.py", f"tests/test_{own}.py", "site/"], command=SUITE))


def turns(colour: str) -> str:
    return AGENT + TURNS.replace("COLOUR", repr(colour))


def open_question(yard: Yard) -> str:
    [row] = yard.query("SELECT id FROM human_issues WHERE closed_at IS NULL")
    return str(row["id"])


def asked(yard: Yard, name: str, agent: str) -> None:
    yard.work(yard.agent(agent))
    item = yard.item(name)
    assert (item["phase"], item["attempts"], item["last_verdict"]) == ("blocked", 0, "page_not_accepted"), (
        item,
        yard.questions(),
    )


def landed(yard: Yard, name: str, agent: str) -> None:
    yard.work(yard.agent(agent))
    assert yard.item(name)["phase"] == "done", (yard.item(name)["last_feedback"], yard.questions())


def test_the_first_is_asked_an_accepted_one_is_known_to_the_next_story_and_another_look_is_asked_again(
    yard: Yard, command: Cli
) -> None:
    add(yard, "S-1")
    assert "S-1 has no picture of a page" in command("show", "S-1", "--pictures", "seen").err
    asked(yard, "S-1", AGENT)
    out = command("inbox").out
    assert "S-1 is green but for how 1 of its pages look" in " ".join(out.split())
    assert "--- site/index.html at 400x300 has no accepted picture yet" in out
    assert "[1] accept the pictures (pages look right like this, by your name; the run goes on where it is)" in out
    [candidate] = re.findall(r"candidate: (\S+\.png)", out)
    assert Image.open(candidate).size == (400, 300)
    assert str(Path(candidate).parent) in "".join(command("show", "S-1").out.split())
    told = command("answer", open_question(yard), "1")
    assert "its pictures are accepted by" in told.out, told
    landed(yard, "S-1", AGENT)
    assert len(yard.events("S-1", "agent.started")) == 1, "the run went on where it was"
    [picture] = json.loads(command("receipt", "S-1", "--evidence").out)["pictures"]
    [row] = yard.query("SELECT accepted_by, sha256 FROM screenshots")
    assert picture["rests on"].startswith(f"a person accepted it: {row['accepted_by']}, 20")
    assert picture["sha256"] == row["sha256"]

    add(yard, "S-2")
    landed(yard, "S-2", AGENT)
    [picture] = json.loads(command("receipt", "S-2", "--evidence").out)["pictures"]
    assert picture["rests on"].startswith("0 of 120,000 pixels differ from what ") and "in S-1" in picture["rests on"]

    add(yard, "S-3")
    asked(yard, "S-3", turns("tan"))
    out = command("inbox").out
    files = dict(re.findall(r"(accepted|candidate|difference): (\S+\.png)", out))
    assert sorted(files) == ["accepted", "candidate", "difference"], out
    assert Image.open(files["candidate"]).getpixel((390, 290)) == (210, 180, 140)
    assert Image.open(files["difference"]).getpixel((390, 290)) == (220, 0, 40)
    saved = command("show", "S-3", "--pictures", "seen", "--json").json["pages"]["site/index.html at 400x300"]
    assert {kind: Path(path).read_bytes() for kind, path in saved.items()} == {
        kind: Path(path).read_bytes() for kind, path in files.items()
    }, "the same on a host that has not taken them"
    assert "seen/site_index.html-" in command("show", "S-3", "--pictures", "seen").out
    unsaid = json.loads(command("receipt", "S-3", "--evidence").out)["pictures"]
    assert [one["rests on"] for one in unsaid] == ["no person has accepted it"]


def test_what_is_sent_back_is_told_to_the_agent_in_the_persons_words(yard: Yard, command: Cli) -> None:
    add(yard, "S-1")
    asked(yard, "S-1", turns("tan"))
    needs = command("answer", open_question(yard), "send_back")
    assert needs.code != 0 and "needs your words" in needs.err
    said = command("answer", open_question(yard), "send_back make it orange")
    assert said.code == 0 and "its agent is told: make it orange" in said.out
    asked(yard, "S-1", turns("tan"))
    [shown] = re.findall(r"candidate: (\S+\.png)", command("inbox").out)
    assert Image.open(shown).getpixel((390, 290)) == (255, 165, 0)
    assert yard.query("SELECT count(*) AS n FROM screenshots WHERE accepted_at IS NOT NULL") == [{"n": 0}]
    assert command("answer", open_question(yard), "cancel").code == 0
    assert yard.item("S-1")["phase"] == "cancelled"


def test_a_page_that_the_story_breaks_goes_back_to_its_agent(yard: Yard) -> None:
    add(yard, "S-1")
    yard.query("UPDATE work_items SET budget_cycles = 1 RETURNING id")
    yard.work(yard.agent(AGENT + 'pathlib.Path("site/index.html").unlink()\n'))
    item = yard.item("S-1")
    assert (item["phase"], item["attempts"], item["last_verdict"]) == ("blocked", 1, "page_not_accepted")
    said = item["last_feedback"]["message"]
    assert "site/index.html: no picture of it could be taken: the server answers 404" in said
