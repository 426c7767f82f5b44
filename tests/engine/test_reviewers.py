"""Those who read a pull request before it lands: strangers to the work, who send it back and never wave it through."""

import json
import sys
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from damascus.domain.critique import Critique, ReviewStatus
from damascus.domain.receipt import BuildReceipt
from damascus.domain.receipt_note import read_note
from damascus.domain.security_domains import SecurityDomain
from damascus.engine.flow.said import left_out
from damascus.engine.lifecycle import carry
from damascus.engine.steps.reviewers import REVIEW_CODE, REVIEWS, FindingWord, SecurityReviewed
from damascus.engine.steps.sast import SAST, SastFinding
from damascus.store import leases
from damascus.store.receipts import latest_receipt
from damascus.toolset import make_tools
from tests.engine.flow_stories import FULL, full_story, journal, secure, story_of, turn, unverified, verified
from tests.engine.shell_stories import FILES, Watched, config, good, shell_story
from tests.engine.test_approval import approve
from tests.engine.test_full_flow import run_of
from tests.engine.test_rogue_agents import newest_receipt
from tests.engine.test_tell import pull_file
from tests.yard import Yard, story

CRITIC = "[review]\ncritic = true\n"
MODELS = '[models]\nfast = "quick-1"\nstrong = "deep-1"\n'
AROUND_AN_AGENT = ("before_intent", "after_effect", "after_done")
CONCERN = {"what": "it greets nobody by name", "where": "one.sh:1", "requirement": "REQ-001", "severity": "high"}


@pytest.fixture
def yard(tmp_path: Path, database_url: str) -> Yard:
    yard = Yard(tmp_path, database_url, files=FILES, config=config(CRITIC + MODELS))
    yard.add(shell_story("one"))
    return yard


def author(**more: Any) -> dict[str, Any]:
    return turn("code-implementer", **good("one"), **more)


def script(*turns: dict[str, Any]) -> dict[str, list[dict[str, Any]]]:
    """The usual turns for roles that are not named."""
    named = {each["only_role"] for each in turns}
    usual = [author(), verified("code-critic"), secure()]
    return {"one": [*turns, *(each for each in usual if each["only_role"] not in named)]}


def roles(agent: Watched) -> list[str]:
    return [str(brief.role) for brief, _, _ in agent.given]


def rejections(yard: Yard) -> list[str]:
    return [row["body"]["verdict"] for row in yard.events("one", "attempt.rejected")]


# ── what they see ─────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.req("D18", "D18.3", "F3.4", "W21")
def test_two_strangers_read_diff_spec_and_evidence_before_it_lands(yard: Yard) -> None:
    talkative = author(report={"summary": "I am sure that it is perfect", "claims": {"tests": 99}})
    agent = Watched(yard, script(talkative))
    yard.work(agent)
    assert yard.item("one")["phase"] == "done" and roles(agent) == [
        "code-implementer", "code-critic", "security-reviewer",
    ]  # fmt: skip
    for brief, prompt, files in agent.given[1:]:
        assert "- REQ-001: UNKNOWN; tests: none known; code: none known" in prompt, "a critic looks into it, once"
        assert "+echo hello one" in prompt and "REQ-001" in prompt and "gate tests: passed" in prompt
        assert "I am sure" not in prompt and "I am sure" not in brief.model_dump_json() and brief.feedback is None
        assert files["one.sh"] == b"echo hello one\n"  # the head's files, in its folder
        assert str(brief.base_commit) == yard.item("one")["base_commit"]
    assert all(f"- {each}: {each.means}" in agent.given[2][1] for each in SecurityDomain)
    spent = {row["role"]: row["model"] for row in yard.query("SELECT role, model FROM spending")}
    assert spent == {"code-implementer": "quick-1", "code-critic": "deep-1", "security-reviewer": "deep-1"}


@pytest.mark.req("D18")
def test_nobody_is_asked_by_default_and_that_is_told(tmp_path: Path, database_url: str) -> None:
    yard = Yard(tmp_path, database_url, files=FILES)
    yard.add(shell_story("one"))
    agent = Watched(yard, {"one": [good("one")]})
    yard.work(agent)
    assert roles(agent) == ["code-implementer"] and yard.item("one")["phase"] == "done"
    [text] = pull_file(yard)["notes"].values()
    assert text and [step.name for step in REVIEWS] == left_out(run_of(yard))[-2:]


@pytest.mark.req("D18", "F11")
def test_in_profile_full_they_are_always_asked_and_the_reporter_tells(tmp_path: Path, database_url: str) -> None:
    yard = Yard(tmp_path, database_url, files=FILES, config=FULL)
    yard.add(full_story())
    told = story_of()
    praise = "All of it is FULLY_VERIFIED, @everyone. <b>Merge!</b>\n"
    told["one"].append(turn("reporter", write={}, report={"summary": "done"}))

    def writes(brief: Any, workspace: Path) -> None:
        if brief.role == "reporter":
            (Path(brief.artifacts) / "report.md").write_text(praise)

    agent = Watched(yard, told, before=writes)
    yard.work(agent)
    assert yard.item("one")["phase"] == "done", yard.questions()
    assert roles(agent)[-3:] == ["code-critic", "security-reviewer", "reporter"]
    [text] = pull_file(yard)["notes"].values()
    assert "an agent's claim, no evidence" in text and "> All of it is FULLY\\_VERIFIED" in text and "<b>" not in text
    [status] = pull_file(yard)["statuses"].values()
    assert "FULLY_VERIFIED" not in status["line"]


@pytest.mark.req("F11")
def test_a_reporter_that_fails_holds_nobody(tmp_path: Path, database_url: str) -> None:
    yard = Yard(tmp_path, database_url, files=FILES, config=FULL)
    yard.add(full_story())
    told = story_of()
    told["one"].append(turn("reporter", exit=3))
    yard.work(Watched(yard, told))
    assert yard.item("one")["phase"] == "done" and rejections(yard) == []


# ── what their word does ──────────────────────────────────────────────────────────────────────────────


@pytest.mark.req("D18.4", "D18")
@pytest.mark.parametrize("role", ["code-critic", "security-reviewer"])
def test_what_its_author_could_cure_goes_back_with_the_concerns(yard: Yard, role: str) -> None:
    more = {"domains": dict.fromkeys(SecurityDomain, "x")} if role == "security-reviewer" else {}
    good_word = secure() if role == "security-reviewer" else verified(role)
    agent = Watched(yard, script(unverified(role, CONCERN, **more), good_word))
    yard.work(agent)
    item = yard.item("one")
    assert (item["phase"], item["attempts"], rejections(yard)) == ("done", 1, ["review_rejected"])
    again = [prompt for brief, prompt, _ in agent.given if brief.role == "code-implementer"][1]
    assert f"the {role} of the pull request says:" in again and "REQ-001: it greets nobody by name (one.sh:1)" in again
    fresh = [prompt for brief, prompt, _ in agent.given if brief.role == role][1]
    assert "it greets nobody" not in fresh  # who reviews again is told nothing of the first review


@pytest.mark.req("D18")
def test_what_its_author_can_not_cure_is_a_persons_to_weigh(yard: Yard) -> None:
    agent = Watched(yard, script(unverified("code-critic", CONCERN, helps=False)))
    yard.work(agent)
    [question] = yard.questions()
    assert "Does this implementation work?" in question and "it greets nobody by name" in question
    item = yard.item("one")
    assert (item["phase"], item["attempts"]) == ("blocked", 0)
    approve(yard)
    yard.work(agent)
    assert yard.item("one")["phase"] == "done" and roles(agent).count("code-critic") == 1
    [status], [text] = pull_file(yard)["statuses"].values(), pull_file(yard)["notes"].values()
    assert status["state"] == "pending" and "code-critic UNVERIFIED" in text  # a person's word is no proof


@pytest.mark.req("D18", "F9.3", "F8.1")
def test_their_words_are_on_the_receipt_and_in_its_note(yard: Yard) -> None:
    yard.work(Watched(yard, script()))
    assert yard.item("one")["phase"] == "done", yard.questions()
    kept, noted = newest_receipt(yard), note(yard)
    assert kept == noted == latest_receipt(yard.db, yard.item("one")["id"])
    assert [(one.step, one.critique.status) for one in kept.proof.said if one.critique] == [
        ("review_code", "VERIFIED"), ("review_security", "VERIFIED"),
    ]  # fmt: skip
    assert kept.code.status == "VERIFIED" and not any("review_" in line for line in kept.notes)


@pytest.mark.req("D18", "F9.3")
def test_a_concern_that_a_person_accepted_stays_unverified_on_the_receipt(yard: Yard) -> None:
    agent = Watched(yard, script(unverified("code-critic", CONCERN, helps=False)))
    yard.work(agent)
    assert newest_receipt(yard).code.status == "UNVERIFIED"
    approve(yard)
    yard.work(agent)
    assert yard.item("one")["phase"] == "done", yard.questions()
    landed = note(yard)
    assert (landed.code.status, landed.tests.status) == ("UNVERIFIED", "VERIFIED")
    assert {one.step for one in landed.proof.said} == {"review_code", "review_security"}
    assert [word.about for word in landed.proof.persons if "it greets nobody by name" in word.about]


@pytest.mark.req("D18", "F8.2")
def test_who_accepted_a_concern_is_not_asked_again_because_main_moved(yard: Yard) -> None:
    agent = Watched(yard, script(unverified("code-critic", CONCERN, helps=False)))
    yard.work(agent)
    approve(yard)
    yard.commit({"other.txt": "a person's\n"}, "main moves")
    yard.work(agent)
    assert (yard.item("one")["phase"], yard.questions()) == ("done", [])
    assert note(yard).code.status == "UNVERIFIED" and note(yard).proof.persons


@pytest.mark.req("F7.2", "F8.2")
def test_a_requirement_that_a_reviewer_calls_partial_asks_a_person(yard: Yard) -> None:
    doubt = {"requirements": [{"id": "REQ-001", "status": "PARTIAL", "tests": [], "code": []}]}
    agent = Watched(yard, script(verified("code-critic", **doubt)))
    yard.work(agent)
    [question] = yard.questions()
    assert "Does this implementation work?" in question and "not all of it is proved: REQ-001 is" in question
    [line] = newest_receipt(yard).requirement_lines
    assert (line.computed, line.critic, line.status) == ("UNKNOWN", "PARTIAL", "UNKNOWN")
    approve(yard)
    yard.work(agent)
    assert yard.item("one")["phase"] == "done" and note(yard).status == "UNVERIFIED"


def note(yard: Yard) -> BuildReceipt:
    read = read_note(yard.git("notes", "--ref=damascus", "show", "main").encode() + b"\n")
    assert read.receipt is not None and read.problems == ()
    return read.receipt


TWICE = '{"status": "UNVERIFIED", "status": "VERIFIED", "summary": "x", "concerns": [{"what": "bad"}]}'


@pytest.mark.req("D18", "F4")
@pytest.mark.parametrize(
    ("word", "missing"),
    [
        (turn("code-critic", exit=3), "it exited 3"),
        (turn("code-critic"), "it left no report"),
        (turn("code-critic", report="no JSON at all"), "its report is not valid JSON"),
        (turn("code-critic", report=TWICE), "a readable report: its report has the key 'status' twice"),
        (turn("code-critic", report={"status": "VERIFIED"}), "VERIFIED without a reason"),
        (turn("code-critic", report={"status": "VERIFIED", "summary": "\u200b\u3164"}), "VERIFIED without a reason"),
        (turn("code-critic", report={"status": "UNVERIFIED"}), "UNVERIFIED without a concern"),
        (turn("code-critic", report={"status": "GREAT", "summary": "x"}), "status"),
        (turn("code-critic", report={"status": "BLOCKED", "missing": ["the schema"]}), "the schema"),
        (secure(domains={"input": "\u3164"}), "a word on the domain input; a word on the domain injection"),
        (turn("security-reviewer", report={"status": "VERIFIED", "summary": "x", "domains": "all"}), "domains"),
    ],
    ids=["crash", "no report", "no JSON", "twice", "no reason", "an unseen reason", "no concern", "no status",
         "blocked", "no domain", "no object"],
)  # fmt: skip
def test_what_is_no_review_asks_a_person_and_charges_nobody(yard: Yard, word: dict[str, Any], missing: str) -> None:
    agent = Watched(yard, script(word, author()))
    yard.work(agent)
    item, [question] = yard.item("one"), yard.questions()
    assert (item["phase"], item["attempts"], item["merged_commit"]) == ("blocked", 0, None)
    assert question.startswith(f"The {word['only_role']} could not review one. Missing: ") and missing in question
    assert yard.git("log", "--format=%s", "main") == "start"


@pytest.mark.req("D18", "F3.2")
def test_a_critic_that_edits_files_changes_nothing(yard: Yard) -> None:
    meddling = {**verified("code-critic"), "write": {"one.sh": "echo hello critic\n", "tests/test_one.sh": "true\n"}}
    yard.work(Watched(yard, script(meddling)))
    assert yard.item("one")["phase"] == "done" and yard.on_main("one.sh") == "echo hello one"
    [said] = journal(yard, REVIEW_CODE)
    assert sorted(path for each in said.forbidden for path in each.paths) == ["one.sh", "tests/test_one.sh"]


@pytest.mark.req("D18")
def test_critics_that_always_say_verified_wave_nothing_through(yard: Yard) -> None:
    """What a gate refuses never comes to them."""
    wrong = turn("code-implementer", write={**good("one")["write"], "one.sh": "echo bye\n"})
    agent = Watched(yard, script(wrong, author()))
    yard.work(agent)
    assert rejections(yard) == ["tests_failed"] and roles(agent)[:2] == ["code-implementer", "code-implementer"]
    assert yard.on_main("one.sh") == "echo hello one"


@pytest.mark.req("D18", "D20")
@pytest.mark.parametrize(("step", "point"), [
    *((step, point) for step in ("review_code", "review_security") for point in AROUND_AN_AGENT),
    ("sast", "before"), ("sast", "after"),
])  # fmt: skip
def test_killed_in_a_review_no_finished_one_is_sent_again(yard: Yard, step: str, point: str) -> None:
    class Killed(BaseException):
        pass

    def die(name: str, where: str) -> None:
        if (name, where) == (step, point):
            raise Killed

    agent = Watched(yard, script())
    [item] = leases.claim(yard.db, yard.row.id, "gone:boot:1:2", 1, timedelta(seconds=60))
    with pytest.raises(Killed):
        carry(item, make_tools(yard.app, yard.project, agent, lambda: False, die))
    yard.query("UPDATE leases SET expires_at = now() - interval '1 h' RETURNING item_id")
    yard.query("SELECT rescue_item(item_id, fence, 12, 'test') FROM leases")
    yard.work(agent)
    assert yard.item("one")["phase"] == "done" and len(pull_file(yard)["notes"]) == 1
    lost = 1 if point == "after_effect" else 0  # its result was not recorded
    sent = {"review_code": "code-critic", "review_security": "security-reviewer"}
    for name, role in sent.items():
        assert roles(agent).count(role) == 1 + (lost if name == step else 0)


# ── static findings ───────────────────────────────────────────────────────────────────────────────────


RISKY = "import subprocess\n\n\ndef value():\n    subprocess.run('true', shell=True)\n    return 42\n"
PYTEST = f"{sys.executable} -m pytest -q -p no:cacheprovider tests/test_m.py"
TEST = "from m import value\n\n\ndef test_REQ_001_value():\n    assert value() == 42\n"


@pytest.mark.req("F3.4", "A13")
def test_every_static_finding_is_handed_over_and_must_be_answered(tmp_path: Path, database_url: str) -> None:
    yard = Yard(tmp_path, database_url, config=config(CRITIC))
    yard.add(story("one", scope=["m.py", "tests/test_m.py"], command=PYTEST))
    write = {"m.py": RISKY, "tests/test_m.py": TEST}
    silent, real = secure(), secure(findings=[{"n": 1, "real": True, "why": "any name runs a shell"}])
    answered = secure(findings=[{"n": n, "real": False, "why": "the words are fixed"} for n in range(1, 9)])
    agent = Watched(
        yard, {"one": [turn("code-implementer", write=write), verified("code-critic"), silent, real, answered]}
    )
    yard.work(agent)
    [question] = yard.questions()
    assert "a word on finding 1" in question
    [scanned] = journal(yard, SAST)
    assert [(each.path, each.line, each.rule) for each in scanned.findings][:1] == [("m.py", 5, "S602")]
    prompt = next(prompt for brief, prompt, _ in agent.given if brief.role == "security-reviewer")
    assert "1. m.py:5 S602" in prompt
    file = next(yard.project.folder.glob("runs/one/run-*/artifacts/SAST_FINDINGS.jsonl"))
    assert json.loads(file.read_text().splitlines()[0])["rule"] == "S602"


def test_a_finding_that_it_calls_real_is_no_verified() -> None:
    found = [SastFinding(n=1, path="m.py", line=5, rule="S602", message="a shell")]
    said = SecurityReviewed(
        exit_code=0,
        critique=Critique(status=ReviewStatus.VERIFIED, summary="fine"),
        findings=[FindingWord(n=1, real=True, why="any name runs")],
        domains=dict.fromkeys(SecurityDomain, "looked at"),
    )
    word = said.word_on(found)
    assert (word.status, word.can_further_iteration_help) == ("UNVERIFIED", True)
    assert [each.told for each in word.concerns] == ["S602 a shell: any name runs (m.py:5)"]
    assert said.word_on([]).status == "VERIFIED"
    two = said.word_on([*found, SastFinding(n=2, path="m.py")])
    assert two.status == "BLOCKED" and two.missing == ["a word on finding 2"]


def test_there_are_twenty_domains() -> None:
    assert len(SecurityDomain) == 20
