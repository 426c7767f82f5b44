"""Critics and authors of profile `full` that do not do their part: nobody is believed, nobody else pays for it."""

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from damascus.domain.critique import ReviewStatus
from damascus.domain.receipt import BuildReceipt
from damascus.engine.flow.critics import CRITIQUE_CODE, CRITIQUE_TESTS
from damascus.people import answering
from damascus.people.acts import Actor
from damascus.store import artifacts
from damascus.store.receipts import latest_receipt
from tests.engine.flow_stories import (
    CODE,
    ELEVEN,
    FULL,
    TEST,
    author,
    committed,
    full_story,
    journal,
    story_of,
    turn,
    unverified,
    verified,
)
from tests.engine.shell_stories import FILES, Watched
from tests.receipts.test_schema import schema
from tests.yard import Yard

WRONG = author("code-implementer", {"one.sh": "echo bye\n"})


@pytest.fixture
def yard(tmp_path: Path, database_url: str) -> Yard:
    yard = Yard(tmp_path, database_url, files=FILES, config=FULL)
    yard.add(full_story(), budget=2)
    return yard


def roles(agent: Watched) -> list[str]:
    return [brief.role for brief, _, _ in agent.given]


def verdicts(yard: Yard) -> list[str]:
    return [event["body"]["verdict"] for event in yard.events("one", "attempt.rejected")]


@pytest.mark.req("F9.3", "F4")
def test_critics_that_always_say_verified_get_nothing_past_a_gate(yard: Yard) -> None:
    lazy = author("fixer", {"one.sh": "echo bye bye\n"})
    yard.work(Watched(yard, story_of(code_implementer=WRONG, fixer=lazy)))
    assert yard.item("one")["phase"] == "blocked" and verdicts(yard) == ["tests_failed"] * 2
    assert yard.on_main("one.sh") is None


@pytest.mark.req("F3.2")
def test_what_a_critic_changes_counts_nowhere(yard: Yard) -> None:
    meddling = verified("code-critic") | {"write": {"one.sh": "echo hello critic\n", "tests/test_one.sh": "true\n"}}
    yard.work(Watched(yard, story_of(code_critic=meddling)))
    assert yard.item("one")["phase"] == "done" and yard.on_main("one.sh") == CODE.strip()
    [reviewed] = journal(yard, CRITIQUE_CODE)
    assert sorted(path for finding in reviewed.forbidden for path in finding.paths) == ["one.sh", "tests/test_one.sh"]


NO_REVIEW: dict[str, dict[str, Any]] = {
    "it left no report": {},
    "it exited 3": {"exit": 3, "report": {"status": "VERIFIED", "summary": "all is well"}},
    "its report is not valid JSON": {"report": "VERIFIED"},
    "its report has the key 'status' twice": {"report": '{"status": "BLOCKED", "status": "VERIFIED", "summary": "x"}'},
    "its report can't be used: concerns: ": {"report": {"status": "VERIFIED", "summary": "x", "concerns": 5}},
    "can't be used: status": {"report": {"status": "PERHAPS", "summary": "who knows"}},
    "VERIFIED without a reason": {"report": {"status": "VERIFIED"}},
    "UNVERIFIED without a concern": {"report": {"status": "UNVERIFIED", "can_further_iteration_help": True}},
    "BLOCKED without saying what is missing": {"report": {"status": "BLOCKED", "summary": "I can't"}},
}


@pytest.mark.req("F4.1")
@pytest.mark.parametrize("why", NO_REVIEW)
def test_no_readable_review_is_never_verified_and_charged_to_nobody(yard: Yard, why: str) -> None:
    yard.work(Watched(yard, story_of(test_critic=turn("test-critic", **NO_REVIEW[why]))))
    item = yard.item("one")
    assert (item["phase"], item["attempts"], item["last_verdict"]) == ("blocked", 0, None)
    [asked] = yard.questions()
    assert asked.startswith("The test-critic could not review one. Missing: ") and why in asked
    [reviewed] = journal(yard, CRITIQUE_TESTS)
    assert reviewed.word.status is ReviewStatus.BLOCKED
    assert [event["kind"] for event in yard.events("one", "blocked.question")] == ["blocked.question"]


@pytest.mark.req("F1.2", "F4.1")
def test_a_blocked_run_is_complete_and_goes_on_with_what_was_made(yard: Yard) -> None:
    blocked = turn("test-critic", report={"status": "BLOCKED", "missing": ["the list of greetings"]})
    agent = Watched(yard, story_of(test_critic=[blocked, verified("test-critic")]))
    yard.work(agent)
    assert "Missing: the list of greetings" in yard.questions()[0]
    kept = {each.name: each for each in artifacts.all_latest(yard.db, yard.item("one")["id"])}
    assert [name for name in ELEVEN if name not in kept] == []
    assert kept["build/code_critique.md"].content == b"Not reached: the test-critic could not review the work.\n"
    receipt = newest_receipt(yard)
    assert (receipt.status, receipt.tests.status, receipt.code.status) == ("BLOCKED", "BLOCKED", "UNVERIFIED")
    assert receipt.requirements.fr_status == {"REQ-001": "UNKNOWN"} and receipt.mutation.status == "NOT_RUN"
    assert any("Missing: the list of greetings" in note for note in receipt.notes) and receipt.unproved
    assert latest_receipt(yard.db, yard.item("one")["id"]) is None, "nothing lands by it"

    answer(yard, "1 greetings are in docs/one.md")
    yard.work(agent)
    assert yard.item("one")["phase"] == "done", yard.questions()
    again = [(brief, files) for brief, _, files in agent.given if brief.role == "test-author"][1]
    assert again[1]["tests/test_one.sh"] == TEST.encode(), "what the test-author wrote is there"
    assert any("greetings are in docs/one.md" in known for known in again[0].known_issues)
    history = artifacts.versions(yard.db, yard.item("one")["id"], "build/code_critique.md")
    assert [each.run_no for each in history] == [1, 2]


# ── what they claim ───────────────────────────────────────────────────────────────────────────────────

FULLY = [{"id": "REQ-001", "status": "FULLY_VERIFIED", "tests": [], "code": []}]
CLAIMS: dict[str, tuple[dict[str, Any], str]] = {
    "a critic names numbers that no tool told": (
        {"test_critic": verified("test-critic", summary="all is well: 12 passed")}, "numbers are hard-coded",
    ),
    "a self-reviewer names some": (
        {"self_reviewer": verified("self-reviewer", claims={"total": 12})}, "numbers are hard-coded",
    ),
    "a self-reviewer upgrades a requirement": (
        {"self_reviewer": verified("self-reviewer", requirements=FULLY)}, "tests are UNVERIFIED; code is UNVERIFIED",
    ),
    "a critic upgrades it": (
        {"code_critic": verified("code-critic", requirements=FULLY)}, "tests are UNVERIFIED; code is UNVERIFIED",
    ),
}  # fmt: skip


@pytest.mark.req("F9.1", "F9.3", "F8.2")
@pytest.mark.parametrize("what", CLAIMS)
def test_whoever_claims_more_than_tools_told_brings_a_person(yard: Yard, what: str) -> None:
    turns, why = CLAIMS[what]
    yard.work(Watched(yard, story_of(**turns)))
    assert yard.item("one")["phase"] == "blocked" and yard.on_main("one.sh") is None
    [question] = yard.questions()
    assert question.startswith("Does this implementation work?") and why in question
    assert newest_receipt(yard).status == "UNVERIFIED"


# ── authors ───────────────────────────────────────────────────────────────────────────────────────────

ACCEPTED = "# REQ-001\ntrue\n"
FORBIDDEN: dict[str, dict[str, Any]] = {
    "the implementer rewrites an accepted test": {
        "code_implementer": author("code-implementer", {"one.sh": CODE, "tests/test_one.sh": ACCEPTED})
    },
    "the implementer adds a test": {
        "code_implementer": author("code-implementer", {"one.sh": CODE, "tests/test_two.sh": ACCEPTED})
    },
    "the test-author writes code": {"test_author": author("test-author", {"tests/test_one.sh": TEST, "one.sh": CODE})},
    "the fixer rewrites an accepted test": {
        "code_critic": unverified("code-critic", "hm", helps=False),
        "fixer": author("fixer", {"tests/test_one.sh": ACCEPTED}),
    },
    "the doc-writer writes code": {"doc_writer": author("doc-writer", {"one.sh": "echo hello you\n"})},
}


@pytest.mark.req("F3.2", "F3.3")
@pytest.mark.parametrize("what", FORBIDDEN)
def test_an_author_that_writes_what_is_not_its_own_has_failed(tmp_path: Path, database_url: str, what: str) -> None:
    yard = Yard(tmp_path, database_url, files=FILES, config=FULL)
    yard.add(full_story(scope=["one.sh", "tests/", "docs/one.md"]), budget=2)
    yard.work(Watched(yard, story_of(**FORBIDDEN[what])))
    assert yard.item("one")["phase"] == "blocked" and verdicts(yard) == ["scope_violation"] * 2
    assert yard.on_main("one.sh") is None


@pytest.mark.req("F3.3")
def test_a_fixer_may_add_a_test(tmp_path: Path, database_url: str) -> None:
    yard = Yard(tmp_path, database_url, files=FILES, config=FULL)
    yard.add(full_story(scope=["one.sh", "tests/", "docs/one.md"]))
    more = author("fixer", {"tests/test_two.sh": '# REQ-001\ntest "$(sh one.sh)"\n'})
    yard.work(Watched(yard, story_of(code_critic=unverified("code-critic", "hm", helps=False), fixer=more)))
    assert committed(yard, "tests/test_two.sh") and verdicts(yard) == []


@pytest.mark.req("F12")
def test_critics_of_a_further_run_get_the_receipt_of_the_one_before(yard: Yard) -> None:
    lazy = author("fixer", {"one.sh": "echo bye bye\n"})
    right = author("code-implementer", {"one.sh": CODE})
    agent = Watched(yard, story_of(code_implementer=[WRONG, right], fixer=lazy))
    refused = []

    def looked(brief: Any, _: Path) -> None:
        if brief.role == "context-loader" and brief.attempt == 2:
            refused.append(newest_receipt(yard))

    agent.before = looked
    yard.work(agent)
    assert yard.item("one")["phase"] == "done", yard.questions()
    [receipt] = refused
    assert (receipt.status, receipt.tests.status) == ("UNVERIFIED", "UNVERIFIED")
    assert "refused by gate tests" in receipt.notes and receipt.proof.unfinished.startswith("tests_failed: ")
    again = [(brief, prompt) for brief, prompt, _ in agent.given if brief.attempt == 2]
    heard = [brief.step for brief, prompt in again if "refused by gate tests" in prompt]
    assert heard == ["critique_tests", "critique_code", "self_review"]
    assert newest_receipt(yard).proof.unfinished == ""


def newest_receipt(yard: Yard) -> BuildReceipt:
    """As people and critics find it; what is no receipt raises."""
    kept = artifacts.latest(yard.db, yard.item("one")["id"], "build/build_receipt.json")
    assert kept is not None
    jsonschema.validate(json.loads(kept.content), schema())
    return BuildReceipt.model_validate_json(kept.content)


def answer(yard: Yard, words: str) -> None:
    [row] = yard.query("SELECT id FROM human_issues WHERE closed_at IS NULL")
    asked = answering.question(yard.app, yard.project, row["id"])
    answering.answer(yard.app, asked, words, Actor("ada"))
