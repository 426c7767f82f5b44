"""Whole stories by the real Claude Code that does what it may not, or comes to no end, against a scripted model."""

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from damascus.engine.tools import nothing
from damascus.scanning.scan import Hit, NewLines
from damascus.scanning.scanner import Scanner
from tests.model_server import Fault, ModelServer, Turn, call, say
from tests.scenarios.stories import (
    ASKS,
    CODE,
    RIGHT,
    STORY,
    TEST,
    builds,
    claude,
    claude_yard,
    logged,
    made,
    runs,
    seen,
    transcript,
    workspace,
    writes,
)  # fmt: skip
from tests.yard import Yard, story

SOON_IDLE = "[time]\nidle_seconds = 10.0\n"
"""Longer than Claude Code needs to start on a busy machine."""
RETRY = "the words of the person"


@dataclass
class Scenario:
    folder: Path
    database_url: str
    proof: Path
    model: ModelServer
    yard: Yard

    @property
    def item(self) -> dict[str, Any]:
        return self.yard.item(STORY)

    def answers(self, *words: str) -> None:
        """A person at the command line."""
        [issue] = self.yard.query("SELECT id FROM human_issues WHERE closed_at IS NULL")
        line = [str(Path(sys.executable).parent / "damascus"), "answer", str(issue["id"]), *words]
        subprocess.run(line, cwd=self.yard.repo, env=self.yard.environ, capture_output=True, check=True)

    def work(self, scanner: Scanner | None = None) -> dict[str, Any]:
        worker = self.yard.worker(claude(self.yard, self.model.url, self.proof))
        if scanner is not None:
            worker.tools = replace(worker.tools, quick_scanner=scanner)
        worker.run(nothing)
        return self.item


@pytest.fixture
def scenario(tmp_path: Path, database_url: str, proof: Path, request: pytest.FixtureRequest) -> Iterator[Scenario]:
    """`@pytest.mark.parametrize("scenario", ["[time]…"], indirect=True)` adds to damascus.toml."""
    with ModelServer() as model:
        yard = claude_yard(tmp_path, database_url, more=getattr(request, "param", ""))
        model.script = builds(yard)
        yield Scenario(tmp_path, database_url, proof, model, yard)
        yard.db.close()


# ── what it may not write ─────────────────────────────────────────────────────────────────────────────


@pytest.mark.req("D6", "W8")
def test_writes_outside_of_the_scope_are_refused_and_the_story_goes_on_inside(scenario: Scenario) -> None:
    yard, outside = scenario.yard, scenario.folder / "outside.txt"
    yard.add(story(STORY))
    tries: list[Turn] = [
        [writes(yard, "calc.py", "def one():\n    return 1.0\n")],
        [writes(yard, "calc.py", "def one():\n    return 2\n")],
        [writes(yard, "damascus.toml", "")],
        [call("Write", file_path=str(outside), content="x")],
    ]
    scenario.model.script = builds(yard, *tries)
    item = scenario.work()

    assert (item["phase"], item["attempts"]) == ("done", 0)
    assert yard.on_main("calc.py") == "def one():\n    return 1" and not outside.exists()
    assert [(entry.verdict, entry.check) for entry in logged(yard)] == [
        ("refused", "scope"), ("refused", "scope"), ("refused", "scope"), ("refused", "path"),
        ("applied", ""), ("applied", ""),
    ]  # fmt: skip
    told = json.dumps(scenario.model.asked[1].body["messages"][-1])
    assert f"calc.py may not be written (out of scope). Write only: {CODE}, {TEST}." in told


DENIED = ".claude/settings.json"
"""In the scope, but Claude Code's own permission system asks a person before it writes there."""


@pytest.mark.req("W8", "W9")
def test_two_denials_in_a_row_end_it_and_each_recovery_is_a_thing_that_happens(scenario: Scenario) -> None:
    yard, model = scenario.yard, scenario.model
    yard.add(story(STORY, scope=[DENIED, CODE, TEST]))
    again = [writes(yard, DENIED, "{}\n")]
    model.script = [[writes(yard, TEST, ASKS)], again, again, again, [say("never said")]]
    model.others = {RETRY: builds(yard)}
    item = scenario.work()

    assert (item["phase"], item["attempts"], item["last_verdict"]) == ("blocked", 0, None)
    [issue] = yard.query("SELECT * FROM human_issues")
    assert issue["question"].startswith("BLOCKED_PERMISSION: Write - ")
    named = DENIED if seen(yard) != workspace(yard) else workspace(yard) / DENIED
    assert issue["question"].endswith(f"It tried: {named}")
    assert issue["options"] == ["fix the permission", "respawn with other instructions", "hand to a person"]
    assert len(model.asked) <= 4 and "never said" not in transcript(yard)
    assert yard.events(STORY, "attempt.rejected") == []

    scenario.answers("1")
    assert scenario.work()["phase"] == "blocked", "nobody had mended it, so it is denied again"
    sent = len(model.asked)
    scenario.answers("3", "Ada")
    assert scenario.work()["phase"] == "blocked" and len(model.asked) == sent, "it is Ada's now"
    scenario.answers("2", RETRY)
    assert (scenario.work()["phase"], scenario.item["attempts"]) == ("done", 0)
    assert yard.on_main(DENIED) is None and yard.on_main(CODE) == RIGHT.strip()


@pytest.mark.req("W8", "W9")
def test_a_tool_that_is_withheld_is_a_denial_too(scenario: Scenario) -> None:
    fetch = [call("WebFetch", url="http://127.0.0.1:9/", prompt="x")]
    scenario.yard.add(story(STORY))
    scenario.model.script = [fetch, fetch, *builds(scenario.yard)]

    assert scenario.work()["phase"] == "blocked"
    assert scenario.yard.questions()[0].startswith("BLOCKED_PERMISSION: WebFetch - ")


# ── what comes to no end ──────────────────────────────────────────────────────────────────────────────


@pytest.mark.req("W18", "T1", "T2")
@pytest.mark.parametrize("scenario", [SOON_IDLE], indirect=True, ids=["soon idle"])
def test_a_gateway_that_hangs_is_given_up_and_no_attempt_is_burnt(scenario: Scenario) -> None:
    """By the overseer, before the program's own ten minutes are over: a call that timed out is nobody's attempt."""
    scenario.yard.add(story(STORY))
    scenario.model.faults = iter([Fault("hang")])
    item = scenario.work()

    assert (item["phase"], item["attempts"]) == ("done", 0)
    [wait] = scenario.yard.events(STORY, "phase.transient_retry")
    assert "the model's provider is unavailable" in wait["body"]["reason"] and "no answer" in wait["body"]["reason"]


@pytest.mark.req("W18", "W17")
@pytest.mark.parametrize("scenario", [SOON_IDLE], indirect=True, ids=["soon idle"])
def test_a_command_that_hangs_is_the_agents_own_fault(scenario: Scenario) -> None:
    yard = scenario.yard
    yard.add(story(STORY), budget=1)
    scenario.model.script = [[writes(yard, CODE, RIGHT)], [runs("sleep 60")], [say("never said")]]
    item = scenario.work()

    assert (item["phase"], item["attempts"], item["last_verdict"]) == ("blocked", 1, "agent_failed")
    assert "no sign of life was seen for too long" in item["last_feedback"]["message"]
    assert item["last_feedback"]["files_changed"] == [CODE], "and what it wrote is there for the next one"


@pytest.mark.req("D5", "W17")
def test_the_last_turn_is_the_end_and_an_attempt(scenario: Scenario) -> None:
    yard = scenario.yard
    yard.add(story(STORY), budget=1)
    scenario.model.script = [[writes(yard, CODE, RIGHT)], *[[runs(f"echo {n}")] for n in range(60)]]
    item = scenario.work()

    assert (item["phase"], item["attempts"], item["last_verdict"]) == ("blocked", 1, "agent_failed")
    assert "it had used the turns that it was given" in item["last_feedback"]["message"]
    assert len(scenario.model.asked) in (50, 51)
    [row] = yard.query("SELECT turns, state FROM spending")
    assert row["state"] == "settled" and row["turns"] >= 50


# ── a hook that is killed ─────────────────────────────────────────────────────────────────────────────


class Killed(Scanner):
    """As soon as the agent has asked its model, each scanner process is killed before it can answer."""

    def __init__(self, model: ModelServer) -> None:
        super().__init__(quick=True)
        self._model = model
        self.gone: set[int] = set()

    def _connected(self) -> socket.socket:
        connected = super()._connected()
        if self._model.asked and self._child is not None:
            os.kill(self._child.pid, signal.SIGKILL)
            self._child.wait()
            self.gone.add(self._child.pid)
        return connected


@pytest.mark.req("A10", "W9")
def test_while_the_scanner_is_killed_nothing_is_written(scenario: Scenario) -> None:
    yard = scenario.yard
    yard.add(story(STORY), budget=1)
    tries = [writes(yard, CODE, RIGHT), runs(f"echo > {CODE}"), writes(yard, TEST, ASKS), say("done")]
    scenario.model.script = [[each] for each in tries]
    scanner = Killed(scenario.model)
    item = scenario.work(scanner)
    scanner.close()

    assert len(scanner.gone) >= 3, "each was killed, and so was the one in its place"
    assert (item["phase"], item["last_verdict"]) == ("blocked", "nothing_changed")
    assert [(entry.tool, entry.verdict, entry.check) for entry in logged(yard)] == [
        ("Write", "refused", "secret"), ("Bash", "refused", "secret"), ("Write", "refused", "secret"),
    ]  # fmt: skip
    assert "could not be scanned for secrets" in transcript(yard)


class Broken(Scanner):
    """It passes its self-test, and fails at one file in a way that nobody foresaw."""

    def __init__(self, trouble: BaseException) -> None:
        super().__init__(quick=True)
        self._trouble = trouble

    def scan(self, files: list[NewLines]) -> list[Hit]:
        if any(each["path"] == CODE for each in files):
            raise self._trouble
        return super().scan(files)


@pytest.mark.req("A10", "W9")
@pytest.mark.parametrize(
    ("trouble", "verdict", "words"),
    [
        (RuntimeError("of its own"), "tests_failed", "the write pipeline itself failed (RuntimeError)"),
        (SystemExit(0), "agent_failed", "the write pipeline failed at Write: SystemExit(0)"),
    ],
    ids=["an error is a refusal", "an exit is the end"],
)
def test_a_pipeline_that_fails_lets_nothing_pass(
    scenario: Scenario, trouble: BaseException, verdict: str, words: str
) -> None:
    yard, scanner = scenario.yard, Broken(trouble)
    yard.add(story(STORY), budget=1)
    item = scenario.work(scanner)
    scanner.close()

    assert (item["phase"], item["last_verdict"]) == ("blocked", verdict)
    assert words in transcript(yard)
    assert [entry.path for entry in logged(yard) if entry.verdict == "applied"] == [TEST]
    assert made(yard)["files_changed"] == [TEST] and not (workspace(yard) / CODE).exists()
