"""scan, write, replay, and an answer about a write: the pipeline's parts by hand."""

from pathlib import Path

import pytest

from damascus.domain.scope import Scope
from damascus.scanning.scanner import Scanner
from damascus.store import people
from damascus.writes.bounds import Bounds
from damascus.writes.checks import Checks
from damascus.writes.log import Origin, WriteLog, read
from damascus.writes.pipeline import Pipeline
from damascus.writes.staging import Meta, Staging
from tests.cli import states
from tests.cli.conftest import Cli
from tests.yard import Yard, story

SECRET = "AI" + "za" + "k7Qz9LmWx2Rt5VbNc8HjUe3YpA6sDf4Gt1X"


@pytest.mark.req("A10")
def test_scan_finds_a_secret_and_never_prints_it(tmp_path: Path, command: Cli) -> None:
    bad, good = tmp_path / "bad.py", tmp_path / "good.py"
    bad.write_text(f"\nkey = '{SECRET}'\n")
    good.write_text("key = os.environ['KEY']\n")
    ran = command("scan", str(bad), str(good))
    assert ran.code == 1 and f"{bad}:2: Google API key" in ran.out and SECRET not in ran.out
    told = command("scan", "--json", str(bad))
    assert told.code == 1 and told.json["hits"][0] == {"path": str(bad), "line": 2, "kind": "Google API key"}
    clean = command("scan", str(good))
    assert (clean.code, clean.out) == (0, "No secret in 1 file.\n")
    assert command("scan", "--json", str(good)).json["hits"] == []
    assert command("scan", str(tmp_path / "none.py")).code == 2
    (tmp_path / "below/.git").mkdir(parents=True)
    for name in ("below/hidden.py", "below/.git/packed.py"):
        (tmp_path / name).write_text(bad.read_text())
    folder = command("scan", str(tmp_path / "below"))
    assert folder.code == 1 and "below/hidden.py:" in folder.out and ".git" not in folder.out


@pytest.mark.req("A11")
def test_a_write_is_staged_shown_and_applied_by_hand(yard: Yard, cli: Cli, tmp_path: Path) -> None:
    new = tmp_path / "new.py"
    new.write_text("def one():\n    return 11\n")
    ran = cli("write", "stage", "calc.py", "--from", str(new))
    assert ran.code == 0 and "Next: damascus write show 1" in ran.out, ran.err
    assert cli("write", "list", "--json").json["writes"][0]["path"] == "calc.py"
    assert "calc.py" in cli("write", "list").out
    shown = cli("write", "show", "1")
    assert "-    return 1\n+    return 11" in shown.out and "\x1b" not in shown.out
    assert "+    return 11" in cli("write", "show", "1", "--json").json["diff"]
    assert (yard.repo / "calc.py").read_text().endswith("return 1\n"), "nothing is written before apply"
    assert cli("write", "apply", "1").code == 0
    assert (yard.repo / "calc.py").read_text().endswith("return 11\n")
    [entry] = read(yard.project.folder / "by-hand")
    assert (entry.path, entry.verdict, entry.approved) == ("calc.py", "applied", "person")
    again = cli("write", "apply", "1")
    assert again.code == 1 and "already applied" in again.error
    assert cli("write", "list").out.startswith("No write waits")


@pytest.mark.req("A11", "A10")
def test_what_may_not_be_staged_or_applied_changes_nothing(yard: Yard, cli: Cli, tmp_path: Path) -> None:
    new = tmp_path / "new.py"
    new.write_text(f"key = '{SECRET}'\n")
    ran = cli("write", "stage", "calc.py", "--from", str(new))
    assert ran.code == 1 and "Google API key" in ran.error and SECRET not in ran.err
    new.write_text("x = 1\n")
    assert "outside of the workspace" in cli("write", "stage", "../x.py", "--from", str(new)).error
    assert cli("write", "stage", "calc.py", "--from", str(tmp_path / "none")).code == 2
    assert cli("write", "stage", "calc.py", "--from", str(new)).code == 0
    staged = Staging(yard.project.folder / "staged").get(1)
    staged.after_file.write_text(f"key = '{SECRET}'\n")
    assert "Google API key" in cli("write", "apply", "1").error, "an edited write is scanned again"
    staged.after_file.write_text("x = 2\n")
    (yard.repo / "calc.py").write_text("changed meanwhile\n")
    assert "has changed since" in cli("write", "apply", "1").error
    assert (yard.repo / "calc.py").read_text() == "changed meanwhile\n"
    assert cli("write", "reject", "1", "--reason", "too late").code == 0
    assert cli("write", "list", "--all", "--json").json["writes"][0]["reason"] == "too late"
    assert "no staged write 9" in cli("write", "show", "9").error


def waiting_write(yard: Yard) -> int:
    """A story whose agent waits for a person; the number of the question."""
    yard.add(story("S-1"))
    item = states.claim(yard)[0]
    staging = Staging(yard.project.folder / "staged")
    staged = staging.add(Meta(path="s1.py", root="", story="S-1", role="code-implementer", tool="Write"), None, b"x\n")
    issue = people.ask_about_write(yard.db, yard.row.id, item.id, "Apply this write?", ["apply", "edit", "reject"])
    staging.note(staged, issue=issue)
    return issue


@pytest.mark.req("A11")
@pytest.mark.parametrize(
    ("words", "answer"),
    [(("apply",), "apply"), (("1",), "apply"), (("reject:", "use", "the", "old", "name"), "reject: use the old name")],
)
def test_an_answer_about_a_write_leaves_the_story_alone(
    yard: Yard, cli: Cli, words: tuple[str, ...], answer: str
) -> None:
    issue = waiting_write(yard)
    assert "[1] apply [2] edit [3] reject" in " ".join(cli("inbox").out.split())
    before = yard.item("S-1")
    wrong = cli("answer", str(issue), "maybe")
    assert wrong.code == 2 and "apply, edit, or reject" in wrong.error
    ran = cli("answer", str(issue), *words)
    assert ran.code == 0 and "S-1 goes on" in ran.out, ran.err
    assert people.answer_about_write(yard.db, yard.row.id, issue) == answer
    after = yard.item("S-1")
    assert {k: v for k, v in after.items() if k != "updated_at"} == {
        k: v for k, v in before.items() if k != "updated_at"
    }
    assert yard.query("SELECT count(*) AS n FROM leases")[0]["n"] == 1, "its worker keeps it"


@pytest.mark.req("A11")
def test_a_write_that_an_agent_waits_for_is_decided_by_its_number(yard: Yard, cli: Cli) -> None:
    issue = waiting_write(yard)
    assert cli("write", "apply", "1").code == 0
    assert people.answer_about_write(yard.db, yard.row.id, issue) == "apply"
    staging = Staging(yard.project.folder / "staged")
    second = staging.add(Meta(path="b.py", root="", story="S-1"), None, b"x\n")
    issue = people.ask_about_write(yard.db, yard.row.id, yard.item("S-1")["id"], "Apply?", ["apply", "edit", "reject"])
    second = staging.note(second, issue=issue)
    assert cli("write", "reject", "2", "--reason", "no").code == 0
    assert people.answer_about_write(yard.db, yard.row.id, issue) == "reject: no"


@pytest.mark.req("A14")
def test_replay_checks_a_storys_writes_again(yard: Yard, cli: Cli) -> None:
    yard.add(story("S-1"))
    assert "has no logged write" in cli("replay", "S-1").error
    runs = yard.project.runs / "S-1"
    scanner = Scanner.quick()
    for number in (1, 2):
        workspace = yard.folder / f"workspace-{number}"
        workspace.mkdir()
        bounds = Bounds(Scope(("s1.py", "tests/test_s1.py")), "code-implementer")
        origin = Origin(story="S-1", run=number, attempt=number, step="implement", role="code-implementer")
        pipeline = Pipeline(workspace, origin, Checks(bounds, scanner), WriteLog(runs / f"run-{number}"))
        for path in ("s1.py", "other.py"):
            given = {"file_path": str(workspace / path), "content": "x = 1\n"}
            if pipeline.propose("Write", given).allowed:
                (workspace / path).write_text("x = 1\n")
                pipeline.applied("Write", given)
        pipeline.finish()
    scanner.close()
    ran = cli("replay", "S-1")
    assert ran.code == 0 and "4 writes: every verdict is the same." in ran.out, ran.err
    told = cli("replay", "S-1", "--from", "3", "--json").json
    assert [(w["number"], w["then"], w["now"]) for w in told["writes"]] == [
        (3, "allowed", "allowed"),
        (4, "refused: scope", "refused: scope"),
    ]
    yard.query("UPDATE work_items SET file_scope = ARRAY['other.py'] WHERE story_id = 'S-1' RETURNING id")
    ran = cli("replay", "S-1")
    assert ran.code == 1 and "4 writes judged differently" in ran.out
