"""F8: what is not proved asks a person whether it works; their word lets it land and is kept as a word."""

from pathlib import Path
from typing import Any

import pytest

from damascus.domain.approval import Word
from damascus.domain.receipt_note import read_note
from damascus.people.receipt_verifying import verify
from damascus.store import people
from damascus.store.receipts import latest_receipt
from damascus.telling.receipt import page
from tests.yard import HONEST, Yard, story

SKIPPED = HONEST + (
    "path = pathlib.Path(f'tests/test_{name}.py')\n"
    "path.write_text('import pytest\\n' + path.read_text() + '''\n\n@pytest.mark.xfail\n"
    "def test_REQ_001_negative():\n    assert value() < 0\n''')\n"
)
"""An honest agent, but for one test of the requirement that is expected to fail and not tagged for later."""
FORGED = HONEST + (
    "path = pathlib.Path(f'tests/test_{name}.py')\n"
    "line = 'import atexit, os\\natexit.register(os.write, 1, b\"\\\\n=== 999 passed in 0.01s ===\\\\n\")\\n'\n"
    "path.write_text(path.read_text() + '\\n\\n' + line)\n"
)
"""Its test file can't be loaded on the base, so nothing is printed there."""
TAGGED = SKIPPED.replace("test_REQ_001_negative", "test_REQ_001_EXT_negative")


@pytest.fixture
def yard(tmp_path: Path, database_url: str) -> Yard:
    made = Yard(tmp_path, database_url)
    made.add(story("S-1", scope=["m1.py", "tests/test_m1.py"]))
    return made


def asked(yard: Yard) -> dict[str, Any]:
    [row] = yard.query("SELECT question, options FROM human_issues WHERE closed_at IS NULL")
    return row


@pytest.mark.req("F8.2")
def test_what_is_partial_is_asked_about_with_the_evidence_and_lands_by_a_persons_word(yard: Yard) -> None:
    agent, before = yard.agent(SKIPPED), yard.main()
    yard.work(agent)
    assert (yard.item("S-1")["phase"], yard.main()) == ("blocked", before), "nothing lands by itself"
    question = asked(yard)
    assert question["question"].startswith("Does this implementation work? S-1 passed the gates as ")
    assert "REQ-001 is PARTIAL (did not pass, and is not tagged EXT or FUTURE: " in question["question"]
    assert "\nREQ-001 | PARTIAL | test_REQ_001_value, test_REQ_001_negative | " in question["question"]
    assert [option.partition(":")[0] for option in question["options"]] == [
        "accept it",
        "send it back with your words",
        "cancel the story",
    ]
    assert yard.item("S-1")["pr_url"], "there is a pull to look at"

    people.approve(yard.db, yard.row.id, "S-1", Word("Ada", "terminal", "it is only a later case"))
    yard.work(agent)
    item = yard.item("S-1")
    assert (item["phase"], item["attempts"], yard.questions()) == ("done", 0, [])
    receipt = latest_receipt(yard.db, item["id"])
    assert receipt is not None and receipt.status == "UNVERIFIED", "a word is no proof"
    note = read_note(yard.git("notes", "--ref=damascus", "show", "main").encode() + b"\n").receipt
    assert note is not None and note.requirements.fr_status == {"REQ-001": "PARTIAL"}
    [word] = note.proof.persons
    assert (word.by, word.words) == ("Ada", "it is only a later case") and "REQ-001 is PARTIAL" in word.about
    again = verify(yard.repo, "main", yard.environ, yard.app.home)
    assert (again.code, again.differences) == (0, ()), "what people said is not compared"


@pytest.mark.req("F8.2", "F9.1")
def test_a_test_that_prints_a_summary_of_its_own_lands_by_a_persons_word_only(yard: Yard) -> None:
    yard.work(yard.agent(FORGED))
    assert yard.item("S-1")["phase"] == "blocked" and "tests are BLOCKED" in asked(yard)["question"]
    receipt = latest_receipt(yard.db, yard.item("S-1")["id"])
    assert receipt is not None and receipt.tests.metrics_consistency == "MISMATCH"
    assert "metrics mismatch: the runner's report and its last line differ: passed 1 and 999" in receipt.notes
    assert not any("999" in line for lead, line in page(receipt) if "note" not in lead)


@pytest.mark.req("F8.2")
def test_sent_back_with_words_the_agent_is_told_and_what_is_proved_then_lands(yard: Yard) -> None:
    yard.work(yard.agent(SKIPPED))
    people.send_back(yard.db, yard.row.id, "S-1", Word("Ada", "terminal", "tag it EXT"))
    yard.work(yard.agent(TAGGED, "second"))
    assert yard.item("S-1")["phase"] == "done", yard.questions()
    receipt = latest_receipt(yard.db, yard.item("S-1")["id"])
    assert receipt is not None and receipt.unproved == []


@pytest.mark.req("F8.2")
def test_where_a_person_approves_anyway_one_word_is_enough(tmp_path: Path, database_url: str) -> None:
    yard = Yard(tmp_path, database_url)
    yard.commit({"damascus.toml": yard.on_main("damascus.toml") + '\n[review]\napproval = "person"\n'}, "ask")  # type: ignore[operator]
    yard.add(story("S-1", scope=["m1.py", "tests/test_m1.py"]))
    agent = yard.agent(SKIPPED)
    yard.work(agent)
    people.approve(yard.db, yard.row.id, "S-1", Word("Ada", "terminal"))
    yard.work(agent)
    assert (yard.item("S-1")["phase"], yard.questions()) == ("done", [])
