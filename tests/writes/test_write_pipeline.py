"""The pipeline of one agent step: what it refuses and why, what it logs, and that it denies when it fails itself."""

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from damascus.domain.config import WritesConfig
from damascus.domain.ports import Writes
from damascus.scanning.scanner import Scanner
from damascus.writes import log
from damascus.writes.checks import self_test
from damascus.writes.log import WriteLog, sha
from tests.writes.desk import Desk, notebook

Make = Callable[..., Desk]
SECRET = "sk-" + "ant-api03-" + "k7Qz9LmWx2Rt5VbNc8Hj" * 3


def test_it_is_what_the_port_asks_for(desk: Make) -> None:
    pipeline: Writes = desk().pipeline
    assert pipeline.propose("Bash", {"command": "ls"}).allowed


@pytest.mark.req("A14")
def test_a_write_is_applied_and_logged_with_all_that_is_known_of_it(desk: Make) -> None:
    at = desk()
    at.put("src/a.py", "x = 1\n")
    decision, told = at.call("Edit", file_path="src/a.py", old_string="1", new_string="22")
    assert (decision.allowed, told, at.text("src/a.py")) == (True, "", "x = 22\n")
    at.pipeline.finish()
    [entry] = at.log()
    assert (entry.n, entry.tool, entry.path, entry.verdict, entry.approved) == (
        1,
        "Edit",
        "src/a.py",
        "applied",
        "policy",
    )
    assert (entry.before, entry.after, entry.bytes) == (sha(b"x = 1\n"), sha(b"x = 22\n"), 7)
    assert entry.origin.model_dump() == {
        "story": "S-1", "run": 1, "attempt": 1, "step": "implement", "role": "code-implementer",
    }  # fmt: skip
    assert entry.compile is not None and entry.compile.ok and entry.sast == 0
    assert log.content_of(at.run_folder, entry.after) == b"x = 22\n"


@pytest.mark.req("A10")
def test_a_secret_is_refused_with_advice_and_stands_nowhere(desk: Make) -> None:
    at = desk()
    at.put("src/a.py", "a = 1\n")
    for call in (
        lambda: at.write("src/new.py", f"\nkey = '{SECRET}'\n"),
        lambda: at.call("Edit", file_path="src/a.py", old_string="1", new_string=f"'{SECRET}'"),
        lambda: at.call("MultiEdit", file_path="src/a.py", edits=[{"old_string": "1", "new_string": f"'{SECRET}'"}]),
        lambda: at.call("Bash", command=f"echo {SECRET} > src/a.py"),
    ):
        decision, _ = call()
        assert not decision.allowed
        assert "Anthropic key" in decision.reason and "read it from the environment" in decision.reason
        assert SECRET not in decision.reason
    assert [entry.check for entry in at.log()] == ["secret"] * 4
    assert SECRET not in at.kept()
    assert at.write("src/new.py", "import os\nkey = os.environ['KEY']\n")[0].allowed


@pytest.mark.req("A10")
def test_what_was_there_before_is_not_the_agents_to_repair(desk: Make) -> None:
    at = desk()
    at.put("src/a.py", f"key = '{SECRET}'\nx = 1\n")
    assert at.call("Edit", file_path="src/a.py", old_string="x = 1", new_string="x = 2")[0].allowed


@pytest.mark.req("A10")
def test_a_notebooks_cell_is_looked_at_as_the_source_it_is(desk: Make) -> None:
    at = desk()
    at.put("src/n.ipynb", notebook("x = 1\n"))
    cell = {"notebook_path": "src/n.ipynb", "cell_id": "one"}
    assert not at.call("NotebookEdit", **cell, new_source=f"key = '{SECRET}'")[0].allowed
    password = "hunter" + "Zw4xQ9k2Lm"
    assert not at.call("NotebookEdit", **cell, new_source=f"import os\ndb_password = '{password}'")[0].allowed
    assert at.call("NotebookEdit", **cell, new_source="x = 2")[0].allowed
    assert json.loads(at.text("src/n.ipynb"))["cells"][0]["source"] == "x = 2"


@pytest.mark.req("D6")
@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("other.py", "out of scope"),
        ("../outside.py", "outside of the workspace"),
        ("/etc/passwd", "outside of the workspace"),
        ("src/../../x", "outside of the workspace"),
        (".git/hooks/pre-commit", "git's own"),
        ("src/.GIT/config", "git's own"),
        ("damascus.toml", "judges the work"),
        (".github/workflows/ci.yml", "judges the work"),
        ("specs/S-1.md", "the spec"),
        ("src/.gitattributes", "only when the scope names it"),
        ("src/link/x.py", "symbolic link"),
        ("src/file-link.py", "symbolic link"),
        ("src/folder", "no plain file"),
        ("src/a\0b", "names no file"),
        ("src/\udcff.py", "not UTF-8"),
    ],
)
def test_where_a_write_may_not_lead(desk: Make, tmp_path: Path, path: str, why: str) -> None:
    at = desk()
    (at.workspace / "src" / "folder").mkdir(parents=True)
    (tmp_path / "elsewhere").mkdir()
    os.symlink(tmp_path / "elsewhere", at.workspace / "src" / "link")
    os.symlink(tmp_path / "elsewhere" / "x.py", at.workspace / "src" / "file-link.py")
    decision = at.pipeline.propose(
        "Write", {"file_path": f"{at.workspace}/{path}" if path[0] != "/" else path, "content": "x"}
    )
    assert not decision.allowed and why in decision.reason
    [entry] = at.log()
    assert entry.verdict == "refused" and why in entry.reason


@pytest.mark.req("D6")
def test_a_workspace_below_a_link_is_still_the_workspace(tmp_path: Path, scanner: Scanner) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    at = Desk.of(tmp_path / "link", scanner)
    real = tmp_path / "real" / "workspace" / "src" / "a.py"
    assert at.pipeline.propose("Write", {"file_path": str(real), "content": "x = 1\n"}).allowed
    assert at.write("src/a.py", "x = 1\n")[0].allowed
    at.pipeline.finish()


@pytest.mark.req("F3")
@pytest.mark.parametrize(
    ("role", "path", "allowed"),
    [
        ("code-critic", "src/a.py", False),
        ("test-critic", "tests/test_a.py", False),
        ("test-author", "tests/test_a.py", True),
        ("test-author", "src/a.py", False),
        ("code-implementer", "src/a.py", True),
        ("code-implementer", "tests/test_a.py", False),  # a critic has accepted the tests: they are closed
        ("code-implementer", "tests/test_accepted.py", False),
        ("test-author", "tests/test_accepted.py", True),
        ("doc-writer", "src/README.md", True),
        ("doc-writer", "src/a.py", False),
        ("mutator", "src/a.py", False),
        ("somebody", "src/a.py", False),
    ],
)
def test_who_may_write_what(desk: Make, role: str, path: str, allowed: bool) -> None:
    at = desk(role=role, accepted=("tests/test_accepted.py",))
    decision, _ = at.write(path, "x = 1\n")
    assert decision.allowed is allowed
    assert at.log()[0].check == ("" if allowed else "role")


@pytest.mark.req("F3")
def test_the_artifacts_folder_is_open_to_every_role_but_not_to_secrets(desk: Make, tmp_path: Path) -> None:
    at = desk(role="clarifier")
    note = str(tmp_path / "artifacts" / "assumptions.md")
    assert at.pipeline.propose("Write", {"file_path": note, "content": "none\n"}).allowed
    assert not at.pipeline.propose("Write", {"file_path": note, "content": SECRET}).allowed
    out = str(tmp_path / "artifacts" / ".." / "workspace" / "x")
    assert not at.pipeline.propose("Write", {"file_path": out, "content": "none\n"}).allowed


@pytest.mark.parametrize(
    ("tool", "given", "why"),
    [
        ("Teleport", {"file_path": "src/a.py"}, "does not know the tool"),
        ("Write", {"file_path": "src/a.py"}, "content is missing"),
        ("Write", {"content": "x"}, "names no file"),
        ("Write", {"file_path": 7, "content": "x"}, "names no file"),
        ("Edit", {"file_path": "src/a.py", "old_string": "no", "new_string": ""}, "not in the file"),
        ("Edit", {"file_path": "src/a.py", "old_string": "x", "new_string": ""}, "2 times"),
        ("Edit", {"file_path": "src/a.py", "old_string": "", "new_string": "y"}, "old_string is empty"),
        ("MultiEdit", {"file_path": "src/a.py", "edits": []}, "no edits"),
        ("NotebookEdit", {"notebook_path": "src/a.py", "new_source": ""}, "not a notebook"),
    ],
)
def test_what_it_does_not_understand_it_refuses(desk: Make, tool: str, given: dict[str, object], why: str) -> None:
    at = desk()
    at.put("src/a.py", "x = x\n")
    decision = at.pipeline.propose(tool, given)
    assert not decision.allowed and why in decision.reason


def test_edits_as_the_tools_make_them(desk: Make) -> None:
    at = desk()
    at.put("src/crlf.txt", b"one\r\ntwo\r\n\xff")
    at.call("Edit", file_path="src/crlf.txt", old_string="one\ntwo", new_string="1\n2")
    assert (at.workspace / "src/crlf.txt").read_bytes() == b"1\r\n2\r\n\xff"
    at.put("src/a.txt", "x x x\n")
    at.call("Edit", file_path="src/a.txt", old_string="x", new_string="y", replace_all=True)
    at.call("MultiEdit", file_path="src/a.txt", edits=[
        {"old_string": "y y", "new_string": "z"}, {"old_string": "z y", "new_string": "end"},
    ])  # fmt: skip
    assert at.text("src/a.txt") == "end\n"
    at.call("Edit", file_path="src/new.txt", old_string="", new_string="new\n")
    assert at.text("src/new.txt") == "new\n"


@pytest.mark.req("A10")
def test_a_scanner_that_can_not_answer_means_no(tmp_path: Path) -> None:
    slow = Scanner(time_limit=0.0001, quick=True)
    at = Desk.of(tmp_path, slow)
    decision, _ = at.write("src/a.py", "x = 1\n" * 50_000)
    assert not decision.allowed and "could not be scanned" in decision.reason
    assert at.log()[0].check == "secret"
    slow.close()
    at.pipeline.finish()


@pytest.mark.req("A10")
def test_a_failure_of_its_own_means_no(desk: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    at = desk(gate="person", person=None)
    assert "nobody can be asked" in at.write("src/a.py", "x = 1\n")[0].reason

    class Broken:
        def ask(self, question: object) -> object:
            raise ZeroDivisionError

    at = desk(gate="person", person=Broken())
    decision, _ = at.write("src/a.py", "x = 1\n")
    assert not decision.allowed and "pipeline itself failed (ZeroDivisionError)" in decision.reason
    assert not (at.workspace / "src/a.py").exists()


@pytest.mark.req("A14")
def test_a_log_that_can_not_be_written_refuses_nothing_less(desk: Make) -> None:
    at = desk()
    at.run_folder.mkdir()
    (at.run_folder / log.FILE).mkdir()
    decision, _ = at.write("other.py", "x = 1\n")
    assert not decision.allowed and "out of scope" in decision.reason and "could not be logged" in decision.reason
    decision, told = at.write("src/a.py", "x = 1\n")
    assert "could not be recorded" in told


def test_a_log_is_never_written_through_a_link(desk: Make, tmp_path: Path) -> None:
    at = desk()
    at.run_folder.mkdir()
    (tmp_path / "victim").write_text("kept\n")
    (at.run_folder / log.FILE).symlink_to(tmp_path / "victim")
    at.write("src/a.py", "x = 1\n")
    assert (tmp_path / "victim").read_text() == "kept\n"


@pytest.mark.req("A14")
def test_the_numbers_of_a_run_go_on_in_its_next_step_and_half_a_line_is_no_entry(desk: Make) -> None:
    at = desk()
    at.write("src/a.py", "x = 1\n")
    at.pipeline.finish()
    with (at.run_folder / log.FILE).open("a") as file:
        file.write('{"n": 9, "tool": "Wri')
    again = WriteLog(at.run_folder)
    again.amend(1, sast=7)
    assert again.add(at.log()[0]) == 2
    assert [(entry.n, entry.sast) for entry in at.log()] == [(1, 7), (2, 7)]


@pytest.mark.req("A10")
def test_a_tool_that_wrote_something_else_than_it_proposed_is_told(desk: Make) -> None:
    at = desk()
    given = {"file_path": str(at.workspace / "src/a.py"), "content": "x = 1\n"}
    assert at.pipeline.propose("Write", given).allowed
    at.put("src/a.py", f"key = '{SECRET}'\n")
    assert "Anthropic key" in at.pipeline.applied("Write", given)
    assert SECRET not in at.kept()


@pytest.mark.req("A10")
def test_the_self_test_finds_a_pipeline_that_would_let_everything_pass(desk: Make) -> None:
    checks = desk().pipeline.checks
    assert self_test(checks) == ""

    class Blind(Scanner):
        def scan(self, files: object) -> list[object]:  # type: ignore[override]
            return []

    from dataclasses import replace

    assert "planted secret" in self_test(replace(checks, scanner=Blind()))


def test_the_settings_switch_the_compile_check_and_sast_off(desk: Make) -> None:
    at = desk(compile=False, sast=False)
    assert at.write("src/a.py", "x = (\n") == (at.pipeline.propose("Bash", {"command": ""}), "")
    assert at.log()[0].compile is None and at.log()[0].sast is None
    assert WritesConfig().compile and WritesConfig().sast  # type: ignore[call-arg]
