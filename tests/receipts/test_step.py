"""The step `receipt` of a build: computed, kept, laid out, and a note on what landed."""

from pathlib import Path

import pytest

from damascus.domain.receipt_note import read_note
from damascus.store.receipts import latest_receipt
from tests.yard import HONEST, Yard, story

EVERY_GATE = "[limits]\ndisk_reserve_mb = 0\nload_per_core = 0.0\n[agent]\nping = false\n[gates]\ncanary = false\n"


@pytest.fixture
def yard(tmp_path: Path, database_url: str) -> Yard:
    made = Yard(tmp_path, database_url)
    made.add(story("S-1", scope=["m1.py", "tests/test_m1.py"]))
    return made


@pytest.mark.req("F8.1", "F9.1")
def test_a_direct_story_has_a_receipt_in_the_database_the_run_folder_and_on_its_commit(yard: Yard) -> None:
    yard.work(yard.agent(HONEST))
    item = yard.item("S-1")
    assert item["phase"] == "done", yard.questions()
    receipt = latest_receipt(yard.db, item["id"])
    assert receipt is not None
    assert receipt.proof.commit == item["merged_commit"] == yard.main()
    assert (receipt.tests.status, receipt.tests.total, receipt.tests.passed) == ("VERIFIED", 1, 1)
    assert receipt.requirements.fr_status == {"REQ-001": "UNKNOWN"}, "these gates look at no line"
    assert receipt.unproved == [], "that it can't be measured is no reason to ask"
    folder = yard.project.runs / "S-1" / "build"
    assert (folder / "build_receipt.json").read_bytes() == receipt.as_bytes()
    assert (folder / "test_summary.md").read_text().startswith("1 passed in ")
    read = read_note(yard.git("notes", "--ref=damascus", "show", "main").encode() + b"\n")
    assert (read.receipt, read.problems) == (receipt, ())
    assert "critique_tests was left out: UNVERIFIED" in receipt.notes


@pytest.mark.slow
@pytest.mark.req("F7.1", "F7.2")
def test_an_ordinary_story_is_mvp_verified_with_its_code_by_file_and_line(tmp_path: Path, database_url: str) -> None:
    yard = Yard(tmp_path, database_url, config=EVERY_GATE)
    yard.add(story("S-1", scope=["m1.py", "tests/test_m1.py"]))
    yard.work(yard.agent(HONEST))
    assert yard.item("S-1")["phase"] == "done", yard.questions()
    receipt = latest_receipt(yard.db, yard.item("S-1")["id"])
    assert receipt is not None
    assert (receipt.status, receipt.requirements.fr_status) == ("VERIFIED", {"REQ-001": "MVP_VERIFIED"})
    [line] = receipt.requirement_lines
    assert (line.code, line.tests, line.green) == (["m1.py:2"], ["tests/test_m1.py::test_REQ_001_value"], True)
    assert line.red_at == receipt.proof.base and "no negative case" in line.gap
    assert receipt.mutation.status == "VERIFIED" and receipt.mutation.score == 100.0
