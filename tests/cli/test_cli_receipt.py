"""damascus receipt: a page for people, the receipt itself, exported, verified, signed."""

import json
import shutil
from pathlib import Path

import pytest

from tests.cli.conftest import Cli
from tests.engine.flow_stories import author, full_story, turn
from tests.engine.shell_stories import FILES, Watched, config, good, shell_story
from tests.yard import PERSON, Yard


@pytest.fixture
def yard(tmp_path: Path, database_url: str, monkeypatch: pytest.MonkeyPatch) -> Yard:
    made = Yard(tmp_path, database_url, files=FILES, config=config())
    for name, value in (made.environ | PERSON).items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(made.repo)
    made.add(shell_story("one"))
    return made


def work(yard: Yard, *names: str) -> None:
    yard.work(Watched(yard, {name: [good(name)] for name in names}))
    assert yard.item(names[0])["phase"] == "done", yard.questions()


@pytest.mark.req("F8.1", "F10.1")
def test_a_page_for_people_the_receipt_itself_and_the_evidence_as_before(yard: Yard, command: Cli) -> None:
    work(yard, "one")
    page = command("receipt", "one")
    head = yard.main()[:7]
    assert page.code == 0 and f"UNVERIFIED on {head}" in page.out
    for told in ("REQ-001  UNKNOWN  it works", "tests      VERIFIED", "it says hello one (the runner's own line)"):
        assert told in page.out
    assert "critique_tests was left out: UNVERIFIED" in page.out and f"damascus receipt verify {head}" in page.out
    told = command("receipt", "one", "--json").json
    assert (told["run_id"], told["requirements"]["fr_status"]) == ("one", {"REQ-001": "UNKNOWN"})
    assert (told["metrics_binding"], told["tests"]["total"]) == ("exit_code", None)
    assert command("receipt", "show", "one", "--json").json == told
    assert command("receipt", "one", "--evidence").json["landing"]["commit"] == yard.main()
    folder = Path(command("show", "one", "--json").json["run_folder"])
    assert json.loads((folder / "build/build_receipt.json").read_text()) == told


@pytest.mark.req("F1.2", "F8.1")
def test_a_blocked_run_has_a_page_of_its_own_and_nothing_to_export(yard: Yard, command: Cli) -> None:
    yard.add(full_story("two", flow="full"))
    blocked = turn("test-critic", report={"status": "BLOCKED", "missing": ["the list of greetings"]})
    test = author("test-author", {"tests/test_two.sh": good("two")["write"]["tests/test_two.sh"]})
    yard.work(Watched(yard, {"one": [good("one")], "two": [test, blocked]}))
    page = command("receipt", "two")
    told = " ".join(page.out.split())
    assert page.code == 0 and "BLOCKED on " in told and "Missing: the list of greetings" in told
    assert "damascus why two" in told and "receipt verify" not in told
    refused = command("receipt", "export", "two")
    assert refused.code == 1 and "no commit of it has passed the gates" in refused.error


@pytest.mark.req("X7.1")
def test_exported_signed_and_verified_and_what_differs_is_exit_1(yard: Yard, command: Cli, tmp_path: Path) -> None:
    made = command("receipt", "key")
    public = Path(made.out.partition(": receipts are signed by ")[0])
    assert made.code == 0 and public.is_file()
    work(yard, "one")
    file = tmp_path / "one.intoto.jsonl"
    done = command("receipt", "export", "one", "-o", str(file))
    assert done.code == 0 and "4 statements, signed" in done.out
    assert command("receipt", "export", "one").out == file.read_text()
    for words in (("main",), (str(file),), ("main", "--key", str(public))):
        same = command("receipt", "verify", *words)
        told = " ".join(same.out.split())
        assert same.code == 0 and "the same here. The receipt stands: UNVERIFIED, one on" in told
        assert "one: its gates run again" in same.err and "gate tests: done" in same.err
    found = command("receipt", "verify", "main", "--json").json
    assert found["same"] is True and found["differences"] == [] and "times" in found["not_compared"]

    file.write_text(file.read_text().replace('"payload": "ey', '"payload": "fy', 1))
    broken = command("receipt", "verify", str(file))
    assert broken.code == 1 and "differs: statement 1 can't be read" in broken.out
    nobody = command("receipt", "verify", "main~1")
    assert nobody.code == 2 and "has no receipt here" in nobody.out
    assert command("receipt", "verify", "no-such-thing").code == 2, "as any wrong use of the command line"
    shutil.rmtree(yard.repo / ".git/refs/notes")
    assert command("receipt", "verify", "main").code == 2


def test_an_unsigned_export_says_so_and_a_story_may_be_called_like_a_verb(yard: Yard, command: Cli) -> None:
    yard.add(shell_story("export"))
    work(yard, "export", "one")
    exported = command("receipt", "export", "export")
    assert exported.code == 0 and "note: not signed" in exported.err and len(exported.out.splitlines()) == 4
    assert command("receipt", "show", "export", "--json").json["run_id"] == "export"
