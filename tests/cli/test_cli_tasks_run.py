"""`tasks run`: one command for several tasks at once; overlap is refused, one failure fails all."""

import threading
from pathlib import Path

import pytest

from damascus.domain.ports import Job, TestRun
from damascus.evidence.runner import CleanRunner
from tests.cli.conftest import Cli
from tests.yard import Yard, story

pytestmark = pytest.mark.req("A15.3")


@pytest.fixture(autouse=True)
def two(yard: Yard) -> None:
    task = {"graph": "TASK-GRAPH.md", "task_type": "feature"}
    yard.add(story("TASK-1", scope=["a.py", "tests/test_a.py"], **task))
    yard.add(story("TASK-2", scope=["b.py", "tests/test_b.py"], **task))


def test_each_task_runs_by_itself_and_its_output_is_kept(cli: Cli) -> None:
    ran = cli(
        "tasks", "run", "--tasks", "task-1,TASK-2", "--", "echo I am $DAMASCUS_TASK; touch mine; ls; test -f calc.py"
    )
    assert ran.code == 0, ran.err
    for name in ("TASK-1", "TASK-2"):
        [line] = [line for line in ran.out.splitlines() if line.startswith(name)]
        assert "passed" in line
        assert Path(line.split()[-1]).read_text().startswith(f"I am {name}\n")
        assert f"{name}: begins: echo" in ran.err and f"{name}: passed" in ran.err, "told while it runs"
    assert "2 tasks passed on main at" in ran.out


def test_they_run_at_once(cli: Cli, yard: Yard, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each run waits until the other has begun."""
    both = threading.Barrier(2, timeout=30)
    real = CleanRunner._run_once

    def met(runner: CleanRunner, job: Job) -> TestRun:
        both.wait()
        return real(runner, job)

    monkeypatch.setattr(CleanRunner, "_run_once", met)
    ran = cli("tasks", "run", "--json", "--tasks", "TASK-1,TASK-2", "--", "sh", "-c", "exit 0")
    assert ran.code == 0 and [one["task"] for one in ran.json["tasks"]] == ["TASK-1", "TASK-2"]
    assert ran.json["command"] == "sh -c 'exit 0'" and ran.json["commit"] == yard.main()


def test_one_that_fails_fails_all_and_is_named(cli: Cli) -> None:
    ran = cli("tasks", "run", "--json", "--tasks", "TASK-1,TASK-2", "--", "test $DAMASCUS_TASK = TASK-1")
    assert ran.code == 1 and not ran.json["passed"]
    assert {one["task"]: (one["passed"], one["exit_code"]) for one in ran.json["tasks"]} == {
        "TASK-1": (True, 0),
        "TASK-2": (False, 1),
    }
    told = cli("tasks", "run", "--tasks", "TASK-1,TASK-2", "--", "test $DAMASCUS_TASK = TASK-1")
    assert told.code == 1 and "TASK-2 failed, so this batch has." in told.out


def test_a_run_of_tests_without_a_test_has_not_passed(cli: Cli) -> None:
    command = "python -m pytest -q -p no:cacheprovider -k nothing_of_that_name"
    ran = cli("tasks", "run", "--json", "--tasks", "TASK-1", "--", command)
    assert ran.code == 1 and not ran.json["tasks"][0]["passed"]


@pytest.mark.parametrize(
    ("third", "landed", "told"),
    [
        (["a.py"], [], "TASK-1 and TASK-3 both name a.py in their output files"),
        (["c/"], [("TASK-1", "c/shared.py")], "TASK-3 names c/shared.py in its output files, which TASK-1 has changed"),
        (["c.py"], [("TASK-1", "x.py"), ("TASK-3", "x.py")], "TASK-1 and TASK-3 have both changed x.py on main"),
    ],
)
def test_tasks_that_overlap_are_refused_with_the_file(
    yard: Yard, cli: Cli, third: list[str], landed: list[tuple[str, str]], told: str
) -> None:
    """By what they declare, and by git's word."""
    yard.add(story("TASK-3", scope=third))
    for name, path in landed:
        yard.query(
            "INSERT INTO file_owners (repo_id, path, item_id) SELECT repo_id, %s, id FROM work_items"
            " WHERE story_id = %s RETURNING 1", path, name,
        )  # fmt: skip
    ran = cli("tasks", "run", "--tasks", "TASK-1,TASK-2,TASK-3", "--", "touch /nowhere")
    assert ran.code == 2 and told in ran.error and "Nothing was run." in ran.error


@pytest.mark.parametrize(
    ("names", "words", "told"),
    [
        ("TASK-1,TASK-9", "true", "there is no task 'TASK-9' in this project"),
        ("TASK-1,task-1", "true", "is named twice"),
        (",", "true", "no task is named"),
        ("TASK-1", " ", "there is no command"),
    ],
)
def test_what_can_not_be_run_is_one_sentence(cli: Cli, names: str, words: str, told: str) -> None:
    ran = cli("tasks", "run", "--tasks", names, "--", words)
    assert ran.code == 2 and told in ran.error and "Traceback" not in ran.err


def test_output_of_the_last_calls_is_kept(cli: Cli, yard: Yard, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("damascus.people.task_runs.KEPT", 2)
    for _ in range(4):
        assert cli("tasks", "run", "--tasks", "TASK-1", "--", "true").code == 0
    assert len(list((yard.project.folder / "task-runs").iterdir())) == 2
