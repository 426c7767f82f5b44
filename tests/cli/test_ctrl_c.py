"""Ctrl-C at the terminal reaches every process of the foreground group: none of ours but the worker itself."""

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.crash.field import AGENT, shell_story
from tests.waiting import eventually
from tests.yard import Yard

SLOW = """#!/bin/sh
case "$*" in *update-index*) if rm "{flag}" 2>/dev/null; then touch "{flag}.met"; sleep 2; fi;; esac
exec {git} "$@"
"""


@pytest.mark.req("D20", "D4")
def test_ctrl_c_while_git_works_is_a_stop(tmp_path: Path, database_url: str) -> None:
    yard = Yard(tmp_path / "yard", database_url)
    yard.add(shell_story("S-1"))
    flag, programs = tmp_path / "slow", tmp_path / "bin"
    programs.mkdir()
    (programs / "git").write_text(SLOW.format(flag=flag, git=shutil.which("git")))
    (programs / "git").chmod(0o755)
    flag.touch()
    agent = tmp_path / "agent"
    agent.write_text("#!/bin/sh\n" + AGENT.format(before=""))
    agent.chmod(0o755)
    words = [
        str(Path(sys.executable).with_name("damascus")),
        "run",
        "--until-idle",
        "--agent",
        "command",
        "--agent-command",
        str(agent),
    ]
    env = {**yard.environ, "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}"}
    worker = subprocess.Popen(
        words,
        cwd=yard.repo,
        env=env,
        start_new_session=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    eventually(Path(f"{flag}.met").exists, 60, "git to be at work")
    os.killpg(worker.pid, signal.SIGINT)
    told, _ = worker.communicate(timeout=60)

    item = yard.item("S-1")
    assert (item["phase"], item["state"], item["attempts"]) == ("build", "ready", 0), told
    assert yard.questions() == [], told
