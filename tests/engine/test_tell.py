"""The proof on the pull request: one comment, edited in place, and a status on the commit; no story waits for it."""

import json
import sys
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from damascus.domain.errors import TransientError
from damascus.domain.ids import Sha
from damascus.domain.ports import Pull, PullProof
from damascus.domain.receipt import BuildReceipt, RequirementLine
from damascus.engine.lifecycle import carry
from damascus.engine.run import Run
from damascus.engine.steps import land, tell
from damascus.store import leases
from damascus.store.receipts import latest_receipt
from damascus.toolset import make_tools
from tests.domain.receipts import line, receipt
from tests.engine.elsewhere import GREEN, RUNNING, Elsewhere, Far, Look
from tests.engine.shell_stories import FILES, Watched, config, good, shell_story
from tests.engine.test_ci_red import red
from tests.yard import Yard, story

PERSON = '[review]\napproval = "person"\n'
POINTS = ("before_intent", "after_intent", "after_effect", "after_done")


@pytest.fixture
def yard(tmp_path: Path, database_url: str) -> Yard:
    yard = Yard(tmp_path, database_url, files=FILES)
    yard.add(shell_story("one"))
    return yard


def pull_file(yard: Yard, branch: str = "feat/one") -> dict[str, Any]:
    told: dict[str, Any] = json.loads(
        yard.project.mirror.git.out("cat-file", "blob", f"refs/damascus/pull-of/{branch}")
    )
    return told


def proved(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every commit has a receipt that nothing is missing from."""
    monkeypatch.setattr(tell, "receipt_of", lambda run, commit: of_commit(run, commit, line("REQ-001")))
    monkeypatch.setattr(land, "receipt_of", tell.receipt_of)


def of_commit(run: Run, commit: Sha, *lines: RequirementLine) -> BuildReceipt:
    return receipt(*lines, commit=commit, tree=run.tools.mirror.tree(commit))


class Told(Elsewhere):
    """Keeps what it was told, and can refuse it."""

    def __init__(self, *looks: Look, refused: list[str] | None = None, lost: int = 0) -> None:
        super().__init__(*looks)
        self.proofs: list[PullProof] = []
        self.refused, self.lost = refused or [], lost

    def tell(self, pull: Pull, proof: PullProof) -> list[str]:
        self.proofs.append(proof)
        if self.lost:
            self.lost -= 1
            raise TransientError("the forge answered 502")
        return [*self.forge.tell(pull, proof), *self.refused]


@pytest.mark.req("X16")
def test_a_story_that_goes_through_has_one_comment_and_a_status(yard: Yard, monkeypatch: pytest.MonkeyPatch) -> None:
    proved(monkeypatch)
    yard.work(Watched(yard, {"one": [good("one")]}))
    item, told = yard.item("one"), pull_file(yard)
    assert item["phase"] == "done"
    [text] = told["notes"].values()
    landed = item["merged_commit"]
    assert text.startswith("**one ") and f"proved on {landed[:7]}" in text and f"On main as {landed[:7]}." in text
    assert told["statuses"] == {landed: {"state": "success", "line": text_of_status(landed)}}
    assert yard.query("SELECT FROM journal WHERE step = 'tell'") == []  # opening and landing tell it


@pytest.mark.req("X16", "F11")
def test_the_comment_is_the_receipt_that_was_computed(tmp_path: Path, database_url: str) -> None:
    """Nothing stands in for it: the gates' evidence, the receipt's step, the pull's file."""
    yard = Yard(tmp_path, database_url)
    command = f"{sys.executable} -m pytest -q -p no:cacheprovider tests/test_m.py"
    yard.add(story("one", scope=["m.py", "tests/test_m.py"], command=command))
    test = "from m import value\n\n\ndef test_REQ_001_value():\n    assert value() == 42\n"
    write = {"m.py": "def value():\n    return 42\n", "tests/test_m.py": test}
    yard.work(Watched(yard, {"one": [{"write": write}]}))
    told, [text] = pull_file(yard), pull_file(yard)["notes"].values()
    kept = latest_receipt(yard.db, yard.item("one")["id"])
    assert kept is not None and kept.requirement_lines
    [need] = kept.requirement_lines
    word = {"FULLY_VERIFIED": "FULLY", "MVP_VERIFIED": "MVP"}.get(need.status, need.status)
    assert f"| {need.id} " in text and f" | {word}" in text and "test_REQ_001_value" in text and "1 passed" in text
    assert "review\\_code" in text and "review\\_security" in text  # left out, by name
    [status] = told["statuses"].values()
    assert status["state"] == ("success" if kept.status == "VERIFIED" and not kept.unproved else "pending")


def text_of_status(landed: str) -> str:
    return f"1 of 1 requirement (1 FULLY); on main as {landed[:7]}"


@pytest.mark.req("X16")
def test_without_a_receipt_the_status_is_no_success(yard: Yard, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (tell, land):
        monkeypatch.setattr(module, "receipt_of", lambda *_: None)
    yard.work(Watched(yard, {"one": [good("one")]}))
    [status] = pull_file(yard)["statuses"].values()
    assert yard.item("one")["phase"] == "done" and status["state"] == "pending"


@pytest.mark.req("X16")
def test_green_ci_elsewhere_is_told_before_the_landing(
    tmp_path: Path, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    proved(monkeypatch)
    forge = Told(RUNNING, GREEN)
    far = Far(tmp_path, database_url, forge)
    assert far.go()["phase"] == "done"
    assert [proof.state for proof in forge.proofs] == ["pending", "success", "success"]
    assert [proof.line.rpartition("; ")[2] for proof in forge.proofs][:2] == ["waits for CI", "CI 1/1, waits to land"]
    assert forge.proofs[-1].landed == far.item("one")["merged_commit"] and len({p.key for p in forge.proofs}) == 1
    assert len(pull_file(far)["notes"]) == 1


@pytest.mark.req("X16")
def test_a_story_that_is_sent_back_says_so_and_then_what_the_next_try_proved(
    tmp_path: Path, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    proved(monkeypatch)
    forge = Told(red("io"), red("io"), GREEN)
    far = Far(tmp_path, database_url, forge)
    assert far.go()["phase"] == "done"
    states = [proof.state for proof in forge.proofs]
    assert states[0] == "pending" and "failure" in states and states[-1] == "success"
    [back] = [proof for proof in forge.proofs if proof.state == "failure"]
    assert "sent back: " in back.line and "Sent back: " in back.text
    assert len(pull_file(far)["notes"]) == 1


@pytest.mark.req("X16")
def test_a_person_who_is_asked_is_told_of_on_the_pull(
    tmp_path: Path, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    proved(monkeypatch)
    yard = Yard(tmp_path, database_url, files=FILES, config=config(PERSON))
    yard.add(shell_story("one"))
    yard.work(Watched(yard, {"one": [good("one")]}))
    [text], [status] = pull_file(yard)["notes"].values(), pull_file(yard)["statuses"].values()
    assert yard.item("one")["phase"] == "blocked" and status["state"] == "pending"
    assert "Waits for a person: approval." in text and str(tmp_path) not in text


@pytest.mark.req("X16")
def test_a_forge_that_refuses_comments_holds_nobody_and_is_noted(tmp_path: Path, database_url: str) -> None:
    forge = Told(GREEN, refused=["comment: the forge refused it: no right"])
    far = Far(tmp_path, database_url, forge)
    assert far.go()["phase"] == "done"
    [opened] = far.told("build.pr_opened")
    assert opened["untold"] == ["comment: the forge refused it: no right"]
    assert far.questions() == []


@pytest.mark.req("X16", "T2")
def test_a_comment_that_gets_lost_holds_nobody_and_is_told_with_the_next_news(
    tmp_path: Path, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    proved(monkeypatch)
    forge = Told(GREEN, lost=2)
    far = Far(tmp_path, database_url, forge)
    item = far.go()
    assert (item["phase"], item["attempts"], item["series_count"]) == ("done", 0, 0)
    [text] = pull_file(far)["notes"].values()
    assert "On main as" in text


@pytest.mark.req("X16", "D20")
@pytest.mark.parametrize("point", POINTS)
def test_killed_while_it_is_told_there_is_one_comment(
    tmp_path: Path, database_url: str, point: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    proved(monkeypatch)
    yard = Yard(tmp_path, database_url, files=FILES, config=config(PERSON))
    yard.add(shell_story("one"))

    class Killed(BaseException):
        pass

    def die(step: str, where: str) -> None:
        if (step, where) == ("tell", point):
            raise Killed

    agent = Watched(yard, {"one": [good("one")]})
    [item] = leases.claim(yard.db, yard.row.id, "gone:boot:1:2", 1, timedelta(seconds=60))
    with pytest.raises(Killed):
        carry(item, make_tools(yard.app, yard.project, agent, lambda: False, die))
    yard.query("UPDATE leases SET expires_at = now() - interval '1 h' RETURNING item_id")
    yard.query("SELECT rescue_item(item_id, fence, 12, 'test') FROM leases")
    yard.work(agent)
    [text] = pull_file(yard)["notes"].values()
    assert yard.item("one")["phase"] == "blocked" and "Waits for a person: approval." in text
    assert len(agent.given) == 1 and len(yard.questions()) == 1


@pytest.mark.req("X16")
def test_keys_of_this_host_are_not_in_the_comment(yard: Yard, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_API_KEY", "sk-very-secret-1234567890")
    leaking = line("REQ-001", gap="sk-very-secret-1234567890", tests=["t_postgres://u:hunter22@h"])
    monkeypatch.setattr(land, "receipt_of", lambda run, commit: of_commit(run, commit, leaking))
    yard.work(Watched(yard, {"one": [good("one")]}))
    [text] = pull_file(yard)["notes"].values()
    assert "sk-very-secret" not in text and "hunter22" not in text and "•••" in text
