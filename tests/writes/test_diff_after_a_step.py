"""After the step git's diff is looked through as every write was; a replay says the same of the log."""

from collections.abc import Callable
from pathlib import Path

import pytest

from damascus.domain.ports import ChangedFile, Finding
from damascus.domain.scope import Scope
from damascus.scanning.scanner import Scanner
from damascus.writes.after_step import changes
from damascus.writes.bounds import Bounds
from damascus.writes.log import sha
from damascus.writes.replay import replay
from tests.writes.desk import Desk

Make = Callable[..., Desk]
SECRET = "sk_" + "live_" + "k7Qz9LmWx2Rt5VbNc8HjUe3Y"


def look(at: Desk, *paths: str, base: dict[str, bytes] | None = None) -> list[Finding]:
    """As the engine does, with the workspace as git shows it."""
    base = base or {}
    now = {path: (at.workspace / path) for path in paths}
    status = {path: "A" if path not in base else "M" if now[path].exists() else "D" for path in paths}
    changed = [ChangedFile(path=path, status=status[path]) for path in paths]
    found = changes(changed, base.get, lambda path: now[path].read_bytes())
    return at.pipeline.after_step(found)


@pytest.mark.req("A14")
def test_every_changed_file_is_in_the_log_whoever_wrote_it(desk: Make) -> None:
    at = desk()
    at.write("src/by_tool.py", "x = 1\n")
    at.put("src/by_shell.py", "y = 1\n")
    at.write("src/both.py", "z = 1\n")
    at.put("src/both.py", "z = 2\n")
    assert (
        look(at, "src/by_tool.py", "src/by_shell.py", "src/both.py", "src/gone.py", base={"src/gone.py": b"old"}) == []
    )
    told = [(entry.tool, entry.path, entry.verdict, entry.after) for entry in at.log()]
    assert told == [
        ("Write", "src/by_tool.py", "applied", sha(b"x = 1\n")),
        ("Write", "src/both.py", "applied", sha(b"z = 1\n")),
        ("git", "src/by_shell.py", "found", sha(b"y = 1\n")),
        ("git", "src/both.py", "found", sha(b"z = 2\n")),
        ("git", "src/gone.py", "found", None),
    ]
    assert look(at, "src/by_tool.py", "src/by_shell.py") == [] and len(at.log()) == 5, "once is enough"


@pytest.mark.req("A12", "A13")
def test_what_a_shell_wrote_is_compiled_and_analysed_too(desk: Make) -> None:
    at = desk()
    at.put("src/a.py", "eval(input())\n")
    at.put("src/b.py", "x = (\n")
    assert look(at, "src/a.py", "src/b.py") == []
    at.pipeline.finish()
    assert [(entry.compile and entry.compile.ok) for entry in at.log()] == [True, False]
    assert at.log()[0].sast == 1


@pytest.mark.req("D6", "F3", "A10")
def test_what_a_shell_may_not_have_written_is_found(desk: Make) -> None:
    at = desk(accepted=("tests/test_accepted.py",))
    at.put("src/a.py", f"key = '{SECRET}'\n")
    at.put("other.py", "x = 1\n")
    at.put("tests/test_accepted.py", "def test(): pass\n")
    found = look(at, "src/a.py", "other.py", "tests/test_accepted.py")
    assert [(each.gate, each.verdict.value, each.paths) for each in found] == [
        ("scope", "scope_violation", ["other.py"]),
        ("role", "scope_violation", ["tests/test_accepted.py"]),
        ("secrets", "secret_found", ["src/a.py"]),
    ]
    assert SECRET not in at.kept() + str(found)


@pytest.mark.req("F3")
def test_a_critic_that_wrote_through_a_shell_is_found_also_when_it_deleted(desk: Make) -> None:
    at = desk(role="code-critic")
    at.put("src/a.py", "x = 1\n")
    [finding] = look(at, "src/a.py", "src/gone.py", base={"src/gone.py": b"x"})
    assert finding.gate == "role" and finding.paths == ["src/a.py", "src/gone.py"]


@pytest.mark.req("A14")
def test_a_replay_says_the_same_until_the_rules_change(desk: Make, scanner: Scanner) -> None:
    at = desk()
    at.put("src/a.py", "x = 1\n")
    at.call("Edit", file_path="src/a.py", old_string="1", new_string="2")
    at.write("src/a.py", "x = (\n")
    at.write("other.py", "x = 1\n")
    at.write("src/s.py", f"k = '{SECRET}'\n")
    bounds = at.pipeline.checks.bounds
    again = list(replay([at.run_folder], bounds, scanner))
    assert [(each.then, each.now) for each in again] == [
        ("allowed", "allowed"),
        ("allowed, does not compile", "allowed, does not compile"),
        ("refused: scope", "refused: scope"),
        ("refused: secret", ""),
    ]
    assert not any(each.differs for each in again)
    assert [each.number for each in replay([at.run_folder], bounds, scanner, 3)] == [3, 4]
    narrower = Bounds(Scope(("other.py",)), "")
    assert [each.differs for each in replay([at.run_folder], narrower, scanner)] == [True, True, True, False]


@pytest.mark.req("A14")
def test_a_content_that_was_changed_afterwards_is_not_replayed(desk: Make, scanner: Scanner, tmp_path: Path) -> None:
    at = desk()
    at.write("src/a.py", "x = 1\n")
    (at.run_folder / "written" / sha(b"x = 1\n")).write_bytes(b"forged")
    [each] = replay([at.run_folder], at.pipeline.checks.bounds, scanner)
    assert (each.now, each.note) == ("", "its content is not kept")
