"""Every verb and setting is in the documents, every event of the list is written, every link leads somewhere.

The tables of words (phases, verdicts, waits, events …) are made from the code: tests/rules/tables.py.
"""

import ast
import json
import re
from pathlib import Path

import pytest

from damascus.agents.handover import read_report
from damascus.domain.config import Config, Section, variable
from damascus.domain.critique import Critique
from damascus.domain.events import BLOCKED_BY, EventKind
from damascus.domain.security_domains import SecurityDomain
from damascus.engine.steps.implement import Made
from damascus.engine.steps.reviewers import SecurityReviewed
from tests.rules.tree import document, documents, sources

FAMILIES = sorted({kind.split(".")[0] for kind in EventKind})
READING = ("cli/", "telling/", "people/")


def members_named(text: str) -> set[str]:
    """`EventKind.STORY_LANDED` and the like in a Python source, by their names."""
    return {
        node.attr
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == EventKind.__name__
    }


def events_in_sql() -> set[str]:
    quoted = re.compile(rf"'((?:{'|'.join(FAMILIES)})\.[a-z_]+)'")
    return {name for text in sources("*.sql").values() for name in quoted.findall(text)}


@pytest.mark.req("D11")
def test_every_event_in_sql_is_in_the_list() -> None:
    """In Python a member is the only way to name one (tests/rules/test_words.py); mypy refuses any other."""
    assert events_in_sql() - set(EventKind) == set()


@pytest.mark.req("D11")
def test_every_event_of_the_list_is_written_somewhere() -> None:
    writing = {name: text for name, text in sources().items() if not name.startswith((*READING, "domain/events.py"))}
    named = {member for text in writing.values() for member in members_named(text)}
    known = named | {kind.name for kind in BLOCKED_BY.values()}
    assert {kind.value for kind in EventKind if kind.name not in known} - events_in_sql() == set()


def missing(words: list[str], text: str) -> list[str]:
    return [word for word in words if not re.search(rf"(?<![\w.-]){re.escape(word)}(?![\w-])", text)]


@pytest.mark.req("T7")
def test_the_rules_of_verification_are_told() -> None:
    text = document("docs/VERIFICATION.md")
    told = [
        "24 h",
        "5 min",
        "1 s",
        "budget_cycles",
        "`retry`",
        "exit code 75",
        "three",
        "twelve rescues",
        "attempts",
        "series",
    ]
    assert [word for word in told if word not in text and word.replace("three", "3") not in text] == []


def settings() -> list[tuple[str, str, str]]:
    found = []
    for section, field in Config.model_fields.items():
        assert isinstance(field.annotation, type) and issubclass(field.annotation, Section)
        found += keys_of(section, field.annotation)
    return found


def keys_of(section: str, table: type[Section]) -> list[tuple[str, str, str]]:
    """A table inside of a table has its rows below its own heading."""
    found = []
    for key, info in table.model_fields.items():
        found.append((section, info.alias or key, info.description or ""))
        if isinstance(info.annotation, type) and issubclass(info.annotation, Section):
            found += keys_of(f"{section}.{key}", info.annotation)
    return found


def test_every_setting_is_documented_with_its_variable_and_its_line() -> None:
    text = document("docs/config.md")
    parts = dict(re.findall(r"^## \[([\w.]+)\]\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL))
    lost = []
    for section, key, line in settings():
        row = next((r for r in parts.get(section, "").splitlines() if r.startswith(f"| `{key}` |")), "")
        name = variable(section, key)
        if line not in row or (f"`{name}`" if name else "–") not in row:
            lost.append(f"{section}.{key}")
    assert lost == []


def verbs() -> list[str]:
    import typer

    from damascus.cli.main import app

    command = typer.main.get_command(app)
    found = []
    for name, one in command.commands.items():  # type: ignore[attr-defined]
        found.append(name)
        found += [f"{name} {below}" for below in getattr(one, "commands", {})]
    return found


def test_every_verb_of_the_command_line_is_documented() -> None:
    text = "\n".join(text for name, text in documents().items() if name.startswith(("docs/cli/", "README")))
    assert missing([f"damascus {verb}" for verb in verbs()], text) == []


def test_every_document_that_a_message_names_is_there() -> None:
    named = {name for text in sources().values() for name in re.findall(r"docs/[\w/-]+\.md", text)}
    assert sorted(name for name in named if name not in documents()) == []


def test_every_link_between_documents_leads_somewhere() -> None:
    from pathlib import PurePosixPath

    from tests.rules.tree import ROOT

    broken = []
    for name, text in documents().items():
        for target in re.findall(r"\]\((?!https?:|#|mailto:)([^)#\s]+)", text):
            if not (ROOT / PurePosixPath(name).parent / target).exists():
                broken.append(f"{name} → {target}")
    assert broken == []


def reports() -> list[dict[str, object]]:
    text = document("docs/howto/agent.md")
    return [json.loads(found) for found in re.findall(r"^```json\n(.*?)^```", text, re.MULTILINE | re.DOTALL)]


def reviewed(told: dict[str, object], folder: Path) -> Critique:
    (folder / "report.json").write_text(json.dumps(told))
    return SecurityReviewed(exit_code=0).answered(read_report(folder / "report.json"), None).word_on([])


@pytest.mark.req("F3")
def test_the_reports_that_the_contract_shows_are_taken(tmp_path: Path) -> None:
    """As whoever writes an agent copies them; the security-reviewer's with a sentence for every domain of the list."""
    author, good, bad = reports()
    (tmp_path / "author.json").write_text(json.dumps(author))
    made = Made().answered(read_report(tmp_path / "author.json"), None)
    assert (made.changed, made.weak) == (author["changed"], author["weak"])
    listed = re.search(r"table: domain_names -->\n(.*)", document("docs/howto/agent.md"))
    domains = dict.fromkeys(re.findall(r"`(\w+)`", listed[1] if listed else ""), "looked at")
    assert reviewed({**good, "domains": domains}, tmp_path).status == "VERIFIED"
    assert reviewed({**bad, "domains": domains}, tmp_path).asks_for_more
    del domains[SecurityDomain.LOGIC]
    silent = reviewed({**good, "domains": domains}, tmp_path)
    assert (silent.status, silent.missing) == ("BLOCKED", ["a word on the domain logic"])
