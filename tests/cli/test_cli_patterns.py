"""`damascus patterns`: searched on main; a decision becomes a pattern by a person's word, once."""

import pytest

from damascus.store.patterns import candidates
from tests.cli.conftest import Cli
from tests.yard import Yard, story

INDEX = "| Keywords | Pattern |\n|---|---|\n| auth, session | PATTERN-001: Sessions |\n"


@pytest.fixture
def decided(yard: Yard) -> Yard:
    yard.add(story("TASK-018", domain="payments"))
    yard.query(
        "INSERT INTO decisions (project_id, number, item_id, title, context, decision, trade_off, pattern) "
        "SELECT project_id, 7, id, 'Optimistic locking', 'dead|locks', 'retry `three` times', 'slower', "
        "'Candidate for PATTERN-007.' FROM work_items RETURNING number"
    )
    yard.query(
        "INSERT INTO decisions (project_id, number, item_id, title) SELECT project_id, 8, id, 'Plain' FROM work_items "
        "RETURNING number"
    )
    return yard


def test_search_reads_main_and_not_the_folder(cli: Cli, yard: Yard) -> None:
    yard.write({"PATTERN_INDEX.md": INDEX})
    nothing = cli("patterns", "search", "auth")
    assert nothing.code == 0 and "No pattern fits" in nothing.out and "PATTERN_INDEX.md is not on main" in nothing.err
    yard.commit({}, "the library")
    assert "PATTERN-001 (Sessions)" in cli("patterns", "search", "a", "session").out
    found = cli("patterns", "search", "auth", "--json").json["patterns"]
    assert [(one["pattern"], one["title"], one["keywords"]) for one in found] == [
        ("PATTERN-001", "Sessions", ["auth", "session"])
    ]
    assert cli("patterns", "search", "the").code == 2


@pytest.mark.req("A4.5")
def test_a_decision_that_names_a_pattern_becomes_one_by_a_persons_word_once(cli: Cli, decided: Yard) -> None:
    decided.write({"PATTERN_INDEX.md": INDEX + "\nEntries are in `patterns/`.\n"})
    assert [one["number"] for one in cli("patterns", "candidates", "--json").json["candidates"]] == [7]
    assert "DECISION-007 of TASK-018: Optimistic locking" in cli("patterns", "candidates").out

    done = cli("patterns", "accept", "DECISION-007")
    assert done.code == 0 and "DECISION-007 is PATTERN-007 of the library" in done.out
    assert "git add PATTERN_INDEX.md patterns/PATTERN-007.md" in " ".join(done.out.split())
    index = (decided.repo / "PATTERN_INDEX.md").read_text()
    assert index.replace("| payment, optimistic, locking | PATTERN-007: Optimistic locking |\n", "") == (
        INDEX + "\nEntries are in `patterns/`.\n"
    )
    entry = (decided.repo / "patterns/PATTERN-007.md").read_text()
    assert "- context: dead&#124;locks" in entry and "- evidence: DECISION-007 of TASK-018" in entry
    assert candidates(decided.db, decided.row.id) == []
    assert decided.query("SELECT accepted_by FROM decisions WHERE number = 7")[0]["accepted_by"]
    (event,) = decided.query("SELECT body FROM events_outbox WHERE kind = 'pattern.accepted'")
    assert (event["body"]["pattern"], event["body"]["decision"]) == ("PATTERN-007", 7)

    again = cli("patterns", "accept", "DECISION-007")
    assert again.code == 1 and "was accepted already" in again.error


def test_ids_that_are_taken_or_no_ids_are_refused_and_nothing_is_written(cli: Cli, decided: Yard) -> None:
    decided.write({"PATTERN_INDEX.md": INDEX + "\n## PATTERN-001: Sessions\ndomain: auth\n"})
    before = (decided.repo / "PATTERN_INDEX.md").read_bytes()
    taken = cli("patterns", "accept", "7", "--as", "PATTERN-001")
    assert taken.code == 2 and "in the library already" in taken.error and "--as PATTERN-002" in taken.error
    assert cli("patterns", "accept", "7", "--as", "../x").code == 2
    assert cli("patterns", "accept", "DECISION-x").code == 2
    assert cli("patterns", "accept", "DECISION-999").code == 1
    assert (decided.repo / "PATTERN_INDEX.md").read_bytes() == before
    assert [one["number"] for one in candidates(decided.db, decided.row.id)] == [7]


def test_what_was_written_before_a_kill_is_not_written_twice(cli: Cli, decided: Yard) -> None:
    assert cli("patterns", "accept", "7", "--as", "PATTERN-012").code == 0
    decided.query("UPDATE decisions SET accepted_by = NULL WHERE number = 7 RETURNING number")
    before = (decided.repo / "PATTERN_INDEX.md").read_bytes()
    assert cli("patterns", "accept", "7", "--as", "PATTERN-012").code == 0
    assert (decided.repo / "PATTERN_INDEX.md").read_bytes() == before
