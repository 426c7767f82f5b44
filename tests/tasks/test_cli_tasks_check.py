"""`damascus tasks check` as a person types it: a file is enough, anywhere."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from damascus.domain.verdict import TaskStatus
from tests.tasks.test_task_graph import DOCUMENTED
from tests.user_repository import UserRepository

pytestmark = pytest.mark.req("A1.5")


def check(folder: Path, *words: str, **env: str) -> subprocess.CompletedProcess[str]:
    """Without a home, a database or a repository."""
    damascus = Path(sys.executable).with_name("damascus")
    nowhere = {"PATH": os.environ["PATH"], "HOME": str(folder / "none"), "DAMASCUS_HOME": str(folder / "none"), **env}
    command = [str(damascus), "tasks", "check", *words]
    return subprocess.run(command, cwd=folder, env=nowhere, capture_output=True, text=True, timeout=120)


@pytest.fixture
def graph(tmp_path: Path) -> Path:
    file = tmp_path / "TASK-GRAPH.md"
    file.write_text(DOCUMENTED)
    return file


def test_a_good_graph_is_told_in_a_line_and_the_next_command(graph: Path) -> None:
    done = check(graph.parent, graph.name)
    assert done.returncode == 0 and done.stderr == ""
    assert done.stdout == (
        "TASK-GRAPH.md: 2 tasks, 2 batches. Can start at once: TASK-001.\nNext: damascus tasks add TASK-GRAPH.md\n"
    )
    assert not (graph.parent / "none").exists(), "no home and no database is made"


@pytest.mark.req("A1.2")
def test_in_a_project_it_says_what_adding_says(tmp_path: Path) -> None:
    """An EXEMPT task without a test command, and what is not a task's to write; still without a database."""
    made = UserRepository.create(tmp_path / "repo", {"damascus.toml": '[test]\ncommand = "none"\n'})
    exempt = "### TASK-1: a\n**output_files:** a.txt\n**Test contract status:** EXEMPT (words)\n"
    (made.top / "TASK-GRAPH.md").write_text(exempt)
    told = check(made.top, "TASK-GRAPH.md")
    assert told.returncode == 2 and "TASK-GRAPH.md:3: TASK-1 is EXEMPT, so the project's whole test" in told.stdout
    (made.top / "TASK-GRAPH.md").write_text(exempt.replace("a.txt", "TASK-GRAPH.md, DECISIONS.md"))
    told = check(made.top, "TASK-GRAPH.md")
    assert told.stdout.count("which is Damascus's to write") == 2


HEAVY = ("psycopg", "pygit2", "pydantic", "yaml", "damascus.engine", "damascus.gates", "damascus.store", "damascus.app")


def test_it_imports_nothing_that_a_file_alone_does_not_need(graph: Path) -> None:
    """Half a second for 2,000 tasks: a graph is read in less time than the store and the engine are imported."""
    look = f"print([each for each in {HEAVY!r} if each in sys.modules], file=sys.stderr)"
    code = f"import sys; from damascus.cli.main import main; main(['tasks', 'check', {str(graph)!r}]); {look}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "2 tasks" in done.stdout and done.stderr.strip() == "[]"


def test_every_fault_is_a_line_with_its_place_and_the_exit_code_is_two(graph: Path) -> None:
    graph.write_text(DOCUMENTED.replace("PENDING", "LATER").replace(":** TASK-001\n", ":** TASK-007\n"))
    done = check(graph.parent, graph.name)
    assert done.returncode == 2
    first, second, following = done.stdout.splitlines()
    assert first.startswith("TASK-GRAPH.md:15: TASK-002 has the unknown status 'LATER'. Use one of: PENDING,")
    assert second.startswith("TASK-GRAPH.md:18: TASK-002 depends on TASK-007, which is no task of this graph.")
    assert following == "Next: correct 2 faults, then damascus tasks check TASK-GRAPH.md"


def test_the_same_as_json(graph: Path) -> None:
    good = json.loads(check(graph.parent, graph.name, "--json").stdout)
    assert (good["tasks"], good["first"], good["faults"]) == (2, ["TASK-001"], [])
    assert good["batches"] == [["TASK-001"], ["TASK-002"]]
    graph.write_text(DOCUMENTED.replace("PENDING", "LATER"))
    done = check(graph.parent, graph.name, "--json")
    (fault,) = json.loads(done.stdout)["faults"]
    assert done.returncode == 2 and fault["line"] == 15 and TaskStatus.PENDING in fault["text"]


def test_a_field_that_is_left_alone_is_a_note_beside_the_answer(graph: Path) -> None:
    graph.write_text(DOCUMENTED.replace("**Platform:**", "**Owner:** me\n**Platform:**"))
    done = check(graph.parent, graph.name)
    assert done.returncode == 0 and done.stderr.startswith("note: TASK-GRAPH.md:17: the field 'Owner' is left alone")


def test_what_is_no_file_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    for name, says in (("missing.md", "can't be read"), ("folder", "is no file"), ("pipe", "is no file")):
        done = check(tmp_path, name)
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr.startswith(f"error: {name} {says}") and "Traceback" not in done.stderr
