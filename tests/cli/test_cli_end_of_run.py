"""The last words of `run`, `status` before the first run and after Ctrl-C, and what agents note for people."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from damascus.domain.policy import RETRY_OPTIONS
from tests.cli import states
from tests.cli.conftest import Cli
from tests.yard import HONEST, Yard, story

PROGRAM = str(Path(sys.executable).with_name("damascus"))
NOTES = """
report = {"concerns": ["Is 42 really what callers want?", "tests/old.py tests nothing"]}
pathlib.Path(os.environ["DAMASCUS_REPORT"]).write_text(json.dumps(report))
"""
FAILS_S2 = "sys.exit(3) if brief['story_id'] == 'S-2' else None\n"


def run_words(agent: str) -> tuple[str, ...]:
    return ("run", "--until-idle", "--slots", "1", "--agent", "command", "--agent-command", agent)


@pytest.mark.req("X2")
def test_a_run_ends_with_a_summary(yard: Yard, cli: Cli) -> None:
    yard.add(story("S-1"))
    yard.add(story("S-2"), budget=1)
    ran = cli(*run_words(yard.agent(NOTES + FAILS_S2 + HONEST)))
    assert ran.code == 1, ran.err
    told = ran.out.splitlines()
    assert "· 1 slot ·" in told[0]
    last = told[told.index("1 on main, 1 blocked.") :]
    assert len(last) <= 8
    assert "  landed: S-1" in last
    assert any(line.startswith("  not verified: ") and "damascus receipt S-1" in line for line in last), last
    assert "  needs you: 1 question, the first of S-2: damascus answer 1 …" in last
    assert last[-1] == "Next: damascus inbox"
    _concerns(cli)


def _concerns(cli: Cli) -> None:
    """What an agent says that only a person can decide stands where a person looks."""
    told = cli("show", "S-1").out
    assert "  its agent notes: Is 42 really what callers want?" in told
    assert "1 claim, run" in told and "1 claims" not in told and "1 tests" not in told
    assert cli("show", "S-2", "--json").json["concerns"] == [
        "Is 42 really what callers want?",
        "tests/old.py tests nothing",
    ]
    asked = cli("inbox").out
    assert "    its agent notes: tests/old.py tests nothing" in asked
    assert cli("inbox", "--json").json["issues"][0]["concerns"]


def test_times_of_one_table_have_one_format(yard: Yard, cli: Cli) -> None:
    import re

    yard.add(story("S-1"))
    yard.work(yard.agent(HONEST))
    yard.query("UPDATE journal SET started_at = started_at - interval '10 min' WHERE step = 'prepare' RETURNING step")
    told = cli("show", "S-1").out
    times = re.findall(r"^  run \d+ +\w+ +\w+ +(.*?)  ", told, re.MULTILINE)
    assert len(times) > 5 and len({len(each) for each in times}) == 1, times
    assert all(each.count(":") == 2 for each in times)


def test_before_the_first_run_a_dependent_waits(yard: Yard, cli: Cli) -> None:
    yard.add(story("S-1"), story("S-2", depends_on=["S-1"]))
    told = {line.split()[0]: line for line in cli("status").out.splitlines() if line.startswith("  S-")}
    assert "ready" in told["S-1"] and "waits for S-1 to land" in told["S-2"]
    found = {item["story_id"]: item for item in cli("status", "--json").json["items"]}
    assert found["S-2"]["waiting_for"] == {"kind": "dependency", "key": "S-1", "who": "S-1", "wake_at": None}


def test_what_was_begun_and_can_go_on_stands_first(yard: Yard, cli: Cli) -> None:
    yard.add(story("S-1"), story("S-2"), story("S-3"))
    first, second = states.claim(yard, 2)
    states.asks(yard, first, "Which colour?", *RETRY_OPTIONS)
    from damascus.domain.outcome import GivenBack

    states.came_to(yard, second, GivenBack())
    names = [line[2:].split()[0] for line in cli("status").out.splitlines() if line[2:].startswith("S-")]
    assert names == ["S-2", "S-1", "S-3"]


STANDS = 'pathlib.Path("begun").touch()\ntime.sleep(600)\n'


@pytest.mark.req("D20")
def test_after_ctrl_c_the_next_step_is_to_run_again(yard: Yard) -> None:
    yard.add(story("S-1"))
    words = [PROGRAM, *run_words(yard.agent(STANDS))]
    env = {**yard.environ, "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(
        words, cwd=yard.repo, env=env, stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as at:
        assert at.stdout is not None
        for line in at.stdout:
            if "S-1  build: begins" in line or "S-1  build: implement" in line:
                break
        os.kill(at.pid, signal.SIGINT)
        told = at.stdout.read()
        assert at.wait(60) == 130
    assert told.splitlines()[-1] == "Next: damascus run", told
