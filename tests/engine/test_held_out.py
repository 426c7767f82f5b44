"""Held-out acceptance tests (X1): no agent sees them, the candidate must pass them, feedback names the requirement."""

import io
import tarfile
from pathlib import Path

import pytest

from tests.engine.shell_stories import Watched
from tests.yard import Yard, story

HIDDEN = "from alpha import value\n\n\ndef test_REQ_002_secret_oracle():\n    assert value() == 42\n"
WEAK = """from alpha import value


def test_REQ_001():
    assert value()


def test_REQ_002():
    assert value() > 0
"""
WORDS = ("secret_oracle", "test_hidden", "damascus-acceptance", "== 42")


def archive() -> bytes:
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w") as tar:
        info = tarfile.TarInfo("test_hidden.py")
        info.size = len(HIDDEN)
        tar.addfile(info, io.BytesIO(HIDDEN.encode()))
    return raw.getvalue()


def tried(value: int) -> dict[str, object]:
    return {"write": {"alpha.py": f"def value():\n    return {value}\n", "tests/test_alpha.py": WEAK}}


@pytest.mark.req("X1")
def test_an_agent_never_sees_the_tests_and_is_told_the_requirement_only(tmp_path: Path, database_url: str) -> None:
    yard = Yard(tmp_path, database_url)
    yard.add(
        story(
            "alpha", requirements={"REQ-001": "gives a value", "REQ-002": "gives the right one"}, acceptance="hidden"
        ),
        acceptance=archive(),
    )
    agent = Watched(yard, {"alpha": [tried(7), tried(42)]})
    yard.work(agent)
    item = yard.item("alpha")
    assert (item["phase"], item["attempts"]) == ("done", 1)
    [event] = yard.events("alpha", "attempt.rejected")
    assert event["body"]["verdict"] == "acceptance_failed"

    feedback = agent.given[1][0].feedback
    assert feedback is not None and feedback.requirements == ["REQ-002"]
    assert (feedback.test_output, feedback.failing_tests, feedback.log) == (None, [], None)
    for brief, prompt, files in agent.given:
        seen = brief.model_dump_json() + prompt + "".join(files) + b"".join(files.values()).decode()
        assert [word for word in WORDS if word in seen] == []
    assert not [path for path in yard.git("ls-tree", "-r", "--name-only", "main").split() if "acceptance" in path]


@pytest.mark.req("X1")
def test_held_out_tests_that_are_lost_are_not_passed(tmp_path: Path, database_url: str) -> None:
    """Fail closed: the spec names a folder, and nothing of it is there."""
    yard = Yard(tmp_path, database_url)
    needs = {"REQ-001": "gives a value", "REQ-002": "the right one"}
    yard.add(story("alpha", requirements=needs, acceptance="hidden"), budget=1)
    yard.work(Watched(yard, {"alpha": [tried(42)]}))
    item = yard.item("alpha")
    assert (item["phase"], item["last_verdict"]) == ("blocked", "acceptance_failed")
    assert yard.on_main("alpha.py") is None
