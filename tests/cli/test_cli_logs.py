"""damascus logs: what a person looks for, whichever agent wrote it; and an agent followed while it works."""

import subprocess
import sys
import threading
from pathlib import Path

import pytest

from damascus.domain.feedback import VerdictFeedback
from damascus.domain.verdict import Verdict
from tests.cli import states
from tests.cli.conftest import Cli
from tests.yard import HONEST, Yard, story

PROMPT = "# The task\n\nAdd a function.\n"
SPOKEN = "claude 2.1, sonnet, bubblewrap\n" + PROMPT + "\nI look first.\n→ Read calc.py\n← def one():\n= success\n"


def left_by(yard: Yard, run: int, files: dict[str, str]) -> Path:
    """The logs of a run, written in this order."""
    import os

    folder = yard.project.runs / "S-1" / f"run-{run}"
    folder.mkdir(parents=True, exist_ok=True)
    for n, (name, text) in enumerate(files.items()):
        (folder / name).write_text(text)
        os.utime(folder / name, (1_700_000_000 + n, 1_700_000_000 + n))
    return folder


def ran_with_claude(yard: Yard) -> Path:
    """As it lies there after a build: the agent's words, nothing on stderr, tests, trials of the tests."""
    yard.add(story("S-1"))
    return left_by(
        yard,
        1,
        {
            "prompt.md": PROMPT,
            "transcript.txt": SPOKEN,
            "transcript.txt.stderr": "",
            "tests.log": "1 passed\n",
            "control-1.log": "2 passed\n",
            "mutant-1.log": "1 failed\n",
        },
    )


@pytest.mark.req("D21")
@pytest.mark.parametrize("words", [(), ("--step", "implement")])
def test_the_transcript_of_the_agent_is_shown(words: tuple[str, ...], yard: Yard, cli: Cli) -> None:
    ran_with_claude(yard)
    told = cli("logs", "S-1", *words).out
    assert "── the end of run-1/transcript.txt ─" in told
    assert "I look first.\n→ Read calc.py\n← def one():\n= success\n" in told
    assert "Add a function." not in told, "the prompt lies beside it"
    assert "2 passed" not in told


def test_paths_stand_below_one_folder_and_trials_are_counted(yard: Yard, cli: Cli) -> None:
    ran_with_claude(yard)
    told = cli("logs", "S-1").out.splitlines()
    assert sum(str(yard.folder) in line for line in told) == 1
    listed = [line.split()[0] for line in told if line.startswith("  run-1/")]
    assert listed == ["run-1/transcript.txt", "run-1/tests.log"]
    assert "  … and 1 empty one, 2 of trials of the tests (--json lists them)" in told
    assert "control-1.log" in cli("logs", "S-1", "--step", "control").out
    assert len(cli("logs", "S-1", "--json").json["logs"]) == 5


def test_the_log_that_the_verdict_names_is_shown_first(yard: Yard, cli: Cli) -> None:
    folder = ran_with_claude(yard)
    feedback = VerdictFeedback(message="red", log=str(folder / "tests.log"))
    states.rejected(yard, states.claim(yard)[0], Verdict.TESTS_FAILED, feedback)
    told = cli("logs", "S-1").out
    assert "── the end of run-1/tests.log ─" in told and "1 passed" in told and "I look first" not in told


def test_an_agent_that_only_wrote_to_stderr_is_shown_too(yard: Yard, cli: Cli) -> None:
    yard.add(story("S-1"))
    left_by(yard, 1, {"transcript.txt": "", "transcript.txt.stderr": "no such tool\n"})
    assert "no such tool" in cli("logs", "S-1", "--step", "implement").out


SLOW = """
print("I begin", flush=True)
while not pathlib.Path("go").exists():
    time.sleep(0.02)
pathlib.Path("go").unlink()
print("a very long line " * 20, flush=True)
print("I am ready", flush=True)
"""


@pytest.mark.req("D21")
@pytest.mark.parametrize("width", [60, 100])
def test_an_agent_is_followed_until_its_step_ends(width: int, yard: Yard) -> None:
    yard.add(story("S-1"))
    words = [sys.executable, "-m", "damascus.cli.main", "logs", "S-1", "--follow"]
    env = {**yard.environ, "COLUMNS": str(width), "PYTHONUNBUFFERED": "1"}
    work = threading.Thread(target=yard.work, args=(yard.agent(SLOW + HONEST),))
    with subprocess.Popen(words, cwd=yard.repo, env=env, stdout=subprocess.PIPE, text=True) as following:
        assert following.stdout is not None
        assert "it is waited for" in following.stdout.readline()
        work.start()
        told = []
        for line in following.stdout:
            told.append(line.rstrip("\n"))
            if told[-1] == "I begin":
                (yard.project.worktrees / "S-1" / "go").touch()
        assert following.wait(30) == 0
    work.join()
    said = told[told.index("I begin") :]
    assert "I am ready" in said and any(line.startswith("The step implement has ended.") for line in said)
    assert any(line.endswith("…") for line in said) and all(len(line) <= width for line in said)
    assert yard.item("S-1")["phase"] == "done", yard.questions()


def test_nobody_is_followed_where_no_agent_can_come(yard: Yard, cli: Cli) -> None:
    yard.add(story("S-1"))
    states.landed(yard, "S-1")
    ran = cli("logs", "S-1", "--follow")
    assert ran.code == 1 and "no agent is working on S-1: it is done" in ran.error
