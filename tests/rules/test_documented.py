"""Every verb, setting, phase, verdict, wait, milestone, step and event that the code names is in the documents."""

import re

import pytest

from damascus.domain.config import Config, Section, variable
from damascus.domain.event import EVENTS
from damascus.domain.failures import TABLE
from damascus.domain.verdict import Milestone, Phase, TaskStatus, Verdict
from damascus.engine.lifecycle import SOMETIMES, STEPS
from tests.rules.tree import constants, document, documents, sources

FAMILIES = "|".join(sorted({kind.split(".")[0] for kind in EVENTS}))
EVENT = re.compile(rf"({FAMILIES})\.[a-z_]+")
NOT_EVENTS = {"ci.jobs", "repo.git", "item.started", "item.completed"}
WAITS = {
    "scope", "behind", "dependency", "hold", "landing", "ci", "backoff", "dirty", "budget", "mirror",
    "agent", "chain", "upstream", "repo_full",
}  # fmt: skip


def written_events() -> dict[str, set[str]]:
    """Event names in the sources, Python and SQL, with the files that write them."""
    found: dict[str, set[str]] = {}
    for name, text in sources().items():
        if name != "domain/event.py":
            for value in constants(text):
                if EVENT.fullmatch(value) and value not in NOT_EVENTS:
                    found.setdefault(value, set()).add(name)
    for name, text in sources("*.sql").items():
        for value in re.findall(r"'([a-z]+\.[a-z_]+)'", text):
            found.setdefault(value, set()).add(name)
    return found


def composed() -> set[str]:
    """`blocked.<verdict>` is composed in policy: of the verdicts that a phase asks a person with."""
    policy = sources()["domain/policy.py"]
    assert 'f"blocked.{outcome.verdict}"' in policy
    asking = "".join(text for name, text in sources().items() if name.startswith("engine/phases/"))
    named = re.findall(r"Verdict\.(\w+)", "".join(re.findall(r"(?:NeedsPerson|_ask)\([^)]*", asking)))
    return {f"blocked.{Verdict[name].value}" for name in named}


@pytest.mark.req("D11")
def test_every_event_in_the_code_is_in_the_list() -> None:
    assert {kind: files for kind, files in written_events().items() if kind not in EVENTS} == {}
    assert composed() <= set(EVENTS)


@pytest.mark.req("D11")
def test_every_event_of_the_list_is_written_somewhere() -> None:
    written = {kind for kind, files in written_events().items() if any(not file.startswith("cli/") for file in files)}
    assert set(EVENTS) - written - composed() == set()


def missing(words: list[str], text: str) -> list[str]:
    return [word for word in words if not re.search(rf"(?<![\w.-]){re.escape(word)}(?![\w-])", text)]


def test_every_event_is_documented() -> None:
    assert missing(list(EVENTS), document("docs/lifecycle.md")) == []


@pytest.mark.req("T7")
def test_every_verdict_is_documented_in_words_for_users() -> None:
    text = document("docs/VERIFICATION.md")
    assert missing([f"`{verdict}`" for verdict in Verdict], text) == []


@pytest.mark.req("T7", "W19")
def test_the_table_of_failures_in_the_documents_is_that_of_the_code() -> None:
    lines = {line.strip() for line in document("docs/VERIFICATION.md").splitlines()}
    rows = [f"| {row.member} | {row.cls} | {row.detector} | {row.action} |" for row in TABLE]
    assert [row for row in rows if row not in lines] == []


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


@pytest.mark.req("W3")
def test_every_phase_milestone_and_task_word_is_documented() -> None:
    text = document("docs/lifecycle.md") + document("docs/glossary.md")
    assert missing([*Phase, *Milestone, *TaskStatus], text) == []


def test_every_step_is_documented() -> None:
    assert missing([f"`{step.step}`" for step in (*STEPS, *SOMETIMES)], document("docs/lifecycle.md")) == []


def wait_kinds() -> set[str]:
    found = set()
    for text in sources("*.sql").values():
        found |= set(re.findall(r"SET[^;]*?wait_kind = '(\w+)'", text))
    for name, text in sources().items():
        if name.startswith(("engine/", "domain/")):
            found |= set(re.findall(r"\bWait\(\s*\"(\w+)\"", text)) | set(re.findall(r"wait_kind=\"(\w+)\"", text))
    return found


def test_every_wait_is_known_and_documented() -> None:
    assert wait_kinds() == WAITS
    assert missing([f"`{kind}`" for kind in sorted(WAITS)], document("docs/lifecycle.md")) == []


def settings() -> list[tuple[str, str, str]]:
    found = []
    for section, field in Config.model_fields.items():
        assert isinstance(field.annotation, type) and issubclass(field.annotation, Section)
        for key, info in field.annotation.model_fields.items():
            found.append((section, info.alias or key, info.description or ""))
    return found


def test_every_setting_is_documented_with_its_variable_and_its_line() -> None:
    text = document("docs/config.md")
    parts = dict(re.findall(r"^## \[(\w+)\]\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL))
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
