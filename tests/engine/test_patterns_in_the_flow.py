"""Before a task's code is written the library is searched: in the brief, on record, and required in some domains."""

from pathlib import Path
from typing import Any

import pytest

from damascus.people import answering, showing
from damascus.people.acts import Actor
from damascus.store.patterns import PatternUse, patterns_of
from tests.engine.shell_stories import FILES, Watched, config, good, shell_story
from tests.yard import Yard

INDEX = """| Keywords | Pattern |
|---|---|
| hello | [PATTERN-001](lib/) |
"""
ENTRY = "## PATTERN-001: Say hello\ndomain: auth\ncontext: greetings\npattern: `echo hello` in a script\n"
LIBRARY = {"PATTERN_INDEX.md": INDEX, "lib/one.md": ENTRY}


def yard_with(folder: Path, url: str, files: dict[str, str], more: str = "", **parts: Any) -> Yard:
    yard = Yard(folder, url, files={**FILES, **files}, config=config(more))
    yard.add(shell_story("one", **parts))
    return yard


def agent(yard: Yard, *report: dict[str, Any]) -> Watched:
    tries = [{**good("one"), **({"report": report[0]} if report else {})}]
    return Watched(yard, {"one": tries})


def used(yard: Yard) -> list[PatternUse]:
    return patterns_of(yard.db, yard.item("one")["id"])


@pytest.mark.req("A4.1", "A4.2")
def test_what_fits_is_in_the_brief_and_on_record_as_offered(tmp_path: Path, database_url: str) -> None:
    yard = yard_with(tmp_path, database_url, LIBRARY, domain="auth")
    agents = agent(yard)
    yard.work(agents)

    assert yard.item("one")["phase"] == "done", yard.questions()
    _, prompt, _ = agents.given[0]
    assert "# Patterns of the library" in prompt and "# PATTERN-001 (Say hello)" in prompt
    assert "pattern: `echo hello` in a script" in prompt
    assert used(yard) == [PatternUse("PATTERN-001", "Say hello", "offered")]
    assert [row["body"] for row in yard.events("one", "patterns.matched")] == [
        {"offered": ["PATTERN-001"], "applied": []}
    ]


@pytest.mark.req("A4.3")
def test_applied_is_what_the_agent_names_and_its_diff_shows(tmp_path: Path, database_url: str) -> None:
    index = INDEX + "| hello, unseen | PATTERN-002: Another |\n"
    entry = ENTRY + "## PATTERN-002: Another\ndomain: auth\npattern: use `unseen_call()`\n"
    yard = yard_with(tmp_path, database_url, {"PATTERN_INDEX.md": index, "lib/one.md": entry}, domain="auth")
    yard.work(agent(yard, {"patterns": ["PATTERN-001", "PATTERN-002", "PATTERN-999"]}))

    assert used(yard) == [
        PatternUse("PATTERN-001", "Say hello", "applied"),
        PatternUse("PATTERN-002", "Another", "offered"),
    ]
    shown = showing.shown(yard.app, yard.project, "one")
    assert ("patterns", "applied: PATTERN-001 (Say hello); offered: PATTERN-002 (Another)") in shown.facts()
    assert shown.published()["patterns"][0]["state"] == "applied"


@pytest.mark.req("A4.4")
@pytest.mark.parametrize("files", [{}, {"PATTERN_INDEX.md": "nothing\n"}], ids=["missing", "unreadable"])
def test_rule_5_the_library_is_checked_before_auth_database_and_payment(
    tmp_path: Path, database_url: str, files: dict[str, str]
) -> None:
    """Rule 5 of the builder: no look-up, no agent; a person's word is another matter."""
    yard = yard_with(tmp_path, database_url, files, domain="database")
    agents = agent(yard)
    yard.work(agents)

    assert agents.given == [] and yard.item("one")["phase"] == "blocked"
    (question,) = yard.questions()
    assert "one is about database" in question and "Write PATTERN_INDEX.md on main" in question
    assert "take database out of [patterns] required" in question

    number = yard.query("SELECT id FROM human_issues WHERE closed_at IS NULL")[0]["id"]
    asked = answering.question(yard.app, yard.project, number)
    answering.answer(yard.app, asked, "without_patterns", Actor("Ada"))
    yard.work(agents)
    assert yard.item("one")["phase"] == "done" and len(agents.given) == 1


@pytest.mark.req("A4.4")
def test_an_index_that_is_written_answers_it_and_so_does_the_setting(tmp_path: Path, database_url: str) -> None:
    yard = yard_with(tmp_path, database_url, {}, domain="payments")
    agents = agent(yard)
    yard.work(agents)
    assert agents.given == [] and "one is about payment" in yard.questions()[0]
    yard.commit(LIBRARY, "the library")
    number = yard.query("SELECT id FROM human_issues WHERE closed_at IS NULL")[0]["id"]
    answering.answer(yard.app, answering.question(yard.app, yard.project, number), "retry", Actor("Ada"))
    yard.work(agents)
    assert yard.item("one")["phase"] == "done"


@pytest.mark.parametrize(
    ("more", "parts"),
    [("", {}), ("", {"domain": "security"}), ('[patterns]\nrequired = ["auth"]\n', {"domain": "database"})],
    ids=["plain story", "another domain", "not required here"],
)
def test_without_such_a_domain_nothing_is_asked(
    tmp_path: Path, database_url: str, more: str, parts: dict[str, Any]
) -> None:
    yard = yard_with(tmp_path, database_url, {}, more, **parts)
    agents = agent(yard)
    yard.work(agents)
    assert yard.item("one")["phase"] == "done" and "Patterns" not in agents.given[0][1]
    assert used(yard) == [] and yard.events("one", "patterns.matched") == []


def test_a_plain_story_is_told_nothing_even_where_there_is_a_library(tmp_path: Path, database_url: str) -> None:
    yard = yard_with(tmp_path, database_url, LIBRARY)
    agents = agent(yard)
    yard.work(agents)
    assert "Patterns of the library" not in agents.given[0][1] and used(yard) == []
