"""The real Claude Code in every role of profile `full`, before a scripted model: a critic sends tests back once."""

import json
from pathlib import Path

import pytest

from damascus.domain.security_domains import SecurityDomain
from tests.model_server import Block, ModelServer, Turn, call, say
from tests.scenarios.stories import ASKS, CODE, RIGHT, TEST, claude, claude_yard, writes
from tests.yard import Yard, story

FULL = '[flow]\nprofile = "full"\n'
CONCERN = "no wrong value is tried"
MARK = "test_REQ_001_no_other_value"
BETTER = ASKS + f"\n\ndef {MARK}():\n    assert value() != 41\n"
WITHOUT_RIGHT = "echo broken > s1.py; echo broken >> tests/test_s1.py; "


def reports(**told: object) -> Block:
    text = json.dumps({"summary": "it was read", **told})
    return call("Bash", command=f"cat > $DAMASCUS_REPORT <<'END'\n{text}\nEND", description="report")


def judges(status: str, *, before: str = "", **told: object) -> list[Turn]:
    meddles = [[call("Bash", command=f"{before}true", description="look")]] if before else []
    return [*meddles, [reports(status=status, **told)], [say("That is my review.")]]


def every_role(yard: Yard) -> dict[str, list[Turn]]:
    """By what the first message has in it, the most telling first."""
    unsure = {"can_further_iteration_help": True, "concerns": [{"what": CONCERN, "requirement": "REQ-001"}]}
    return {
        CONCERN: [[writes(yard, TEST, BETTER)], [reports(changed=["a second test"])], [say("done")]],
        "Build the story below": [[writes(yard, CODE, RIGHT)], [reports(changed=["the value"])], [say("done")]],
        "Judge the code of": judges("VERIFIED", before=WITHOUT_RIGHT),
        "Review the whole change": judges("VERIFIED"),
        "for security. Change no file": judges("VERIFIED", domains=dict.fromkeys(SecurityDomain, "looked at")),
        MARK: judges("VERIFIED", requirements=[{"id": "REQ-001", "status": "MVP_VERIFIED", "tests": [MARK]}]),
        "Judge the tests of": judges("UNVERIFIED", **unsure),
        "Write the tests of": [[writes(yard, TEST, ASKS)], [reports(changed=["a test"])], [say("done")]],
    }


@pytest.mark.req("F1", "F3", "F4")
def test_claude_code_plays_every_part(tmp_path: Path, database_url: str, proof: Path) -> None:
    with ModelServer([[say("Nothing is open.")]]) as model:
        yard = claude_yard(tmp_path, database_url, more=FULL)
        yard.add(story("S-1"))
        model.others = every_role(yard)
        yard.work(claude(yard, model.url, proof), slots=1)

    assert yard.item("S-1")["phase"] == "done", (yard.questions(), yard.item("S-1")["last_feedback"])
    roles = [event["body"]["role"] for event in yard.events("S-1", "agent.started")]
    assert roles == [
        "context-loader", "clarifier", "test-author", "test-critic", "test-author", "test-critic", "code-implementer",
        "code-critic", "self-reviewer", "code-critic", "security-reviewer", "reporter",
    ]  # fmt: skip
    assert yard.item("S-1")["attempts"] == 0 and yard.on_main(CODE) == RIGHT.strip(), "a critic changed nothing"
    assert MARK in str(yard.on_main(TEST))
    critique = (yard.project.runs / "S-1/build/test_critique.md").read_text()
    assert critique.startswith("Status: VERIFIED") and "REQ-001: MVP_VERIFIED" in critique
