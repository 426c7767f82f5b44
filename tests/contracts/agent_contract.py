"""The contract that every agent adapter keeps. A new adapter is one more line in test_agents.py.

A family says how to make an agent that behaves in a given way; the tests are the same for all.
"""

import json
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from damascus.domain.failures import AGENT_UNAVAILABLE
from damascus.domain.feedback import VerdictFeedback
from damascus.domain.ports import Agent, AgentRun, Boundaries, Brief, Watch
from damascus.system.sandbox import Level
from tests.waiting import LONG

BRIEF_KEYS = {
    "story_id", "title", "role", "step", "attempt", "objective", "spec", "file_scope", "base_commit", "feedback",
    "artifacts", "repo", "component_id", "plan_ref", "branch_strategy", "boundaries", "known_issues",
    "recent_changes", "parallel_workers", "checkpoint",
}  # fmt: skip


JUNK = {
    "empty": "",
    "cut": "{",
    "list": "[]",
    "null": "null",
    "text": '"text"',
    "wrong type": '{"status": 3}',
    "NUL": "\0" * 10,
    "deep": "[" * 100_000,
    "large": '{"summary": "' + "x" * 1_000_001 + '"}',
}


@dataclass(frozen=True)
class Behaviour:
    """What the agent of a test does."""

    write: Mapping[str, str] = field(default_factory=dict)
    delete: tuple[str, ...] = ()
    exit: int = 0
    say: str = ""
    report: str | None = None
    seconds: float = 0.0


Make = Callable[[Behaviour, Path], Agent]


def a_brief(**changes: object) -> Brief:
    values: dict[str, object] = {
        "story_id": "DM-1", "title": "Sum", "role": "code-implementer", "step": "implement", "attempt": 1,
        "objective": "make it so", "spec": "# Sum\n", "file_scope": ["src/**"], "base_commit": "0" * 40,
        "feedback": VerdictFeedback(message="tests failed", failing_tests=["test_a"]),
        "boundaries": Boundaries(inside=["src/**"], outside=[".git"]),
    }  # fmt: skip
    return Brief.model_validate(values | changes)


def never() -> bool:
    return False


def says_nothing(run: AgentRun) -> bool:
    """No report; a model's last words may stand in its place, but they are no status."""
    return run.report is None or run.report.status == ""


class TellsItsExitCode:
    """For agents whose exit code is the program's own."""

    @pytest.mark.req("T1")
    @pytest.mark.parametrize("code", [0, 1, 3, AGENT_UNAVAILABLE])
    def test_its_exit_code_is_told_as_it_is(self, act: Callable[..., AgentRun], code: int) -> None:
        assert act(Behaviour(exit=code)).exit_code == code


class AgentContract:
    """Subclass with a fixture `make`. `limit`: seconds that a run of this agent may take on a busy machine."""

    limit = 20.0

    @pytest.fixture
    def workspace(self, tmp_path: Path) -> Path:
        folder = tmp_path / "workspace"
        folder.mkdir()
        (folder / "old.py").write_text("old\n")
        return folder

    @pytest.fixture
    def act(self, make: Make, workspace: Path, tmp_path: Path) -> Callable[..., AgentRun]:
        def act(
            behaviour: Behaviour,
            prompt: str = "Do it.",
            timeout: float = self.limit,
            stopping: Callable[[], bool] = never,
        ) -> AgentRun:
            runs = tmp_path / "runs"
            watch = Watch(
                prompt=prompt, brief_file=runs / "brief.json", report_file=runs / "report.json",
                transcript=runs / "transcript.log", timeout=timeout, stopping=stopping, started=lambda _: None,
            )  # fmt: skip
            return make(behaviour, tmp_path / "agent").run(a_brief(), workspace, watch)

        return act

    def test_it_names_itself_and_its_confinement(self, make: Make, tmp_path: Path) -> None:
        agent = make(Behaviour(), tmp_path)
        assert agent.name
        assert agent.confinement in set(Level)

    def test_it_writes_in_the_workspace(self, act: Callable[..., AgentRun], workspace: Path) -> None:
        run = act(Behaviour(write={"src/new.py": "x = 'ö'\n", "a.txt": ""}, delete=("old.py",)))
        assert (run.exit_code, run.timed_out, run.stopped) == (0, False, False)
        assert (workspace / "src/new.py").read_text(encoding="utf-8") == "x = 'ö'\n"
        assert sorted(path.name for path in workspace.iterdir()) == ["a.txt", "src"]
        assert run.seconds > 0

    def test_prompt_and_words_are_in_the_transcript(self, act: Callable[..., AgentRun]) -> None:
        prompt = "# Story\n\n" + "Every line of the prompt counts, ö.\n" * 2000
        run = act(Behaviour(say="I am done, ö"), prompt=prompt)
        transcript = Path(run.transcript).read_text(encoding="utf-8")
        assert prompt in transcript
        assert "I am done, ö" in transcript
        assert "I am done, ö" in run.tail

    def test_the_brief_is_complete(self, act: Callable[..., AgentRun], tmp_path: Path) -> None:
        act(Behaviour())
        brief = json.loads((tmp_path / "runs/brief.json").read_text(encoding="utf-8"))
        assert set(brief) == BRIEF_KEYS
        assert brief["boundaries"] == {"in": ["src/**"], "out": [".git"]}
        assert brief["feedback"]["failing_tests"] == ["test_a"]
        assert (brief["attempt"], brief["branch_strategy"]) == (1, "feature_branch")

    def test_its_report_is_read(self, act: Callable[..., AgentRun]) -> None:
        report = {"status": "done", "can_further_iteration_help": False, "concerns": ["slow"], "summary": "a\0b",
                  "recommended_next": "land", "claims": {"tests": 3, "odd": float("inf")}, "more": 1}  # fmt: skip
        run = act(Behaviour(report=json.dumps(report)))
        assert run.report
        assert (run.report.status, run.report.can_further_iteration_help) == ("done", False)
        assert (run.report.concerns, run.report.recommended_next) == (["slow"], "land")
        assert run.report.summary == "ab"
        assert run.report.claims == {"tests": 3, "odd": None}

    @pytest.mark.parametrize("junk", JUNK.values(), ids=JUNK.keys())
    def test_a_junk_report_is_no_report(self, act: Callable[..., AgentRun], junk: str) -> None:
        run = act(Behaviour(report=junk))
        assert run.exit_code == 0 and says_nothing(run)

    def test_no_report_and_none_of_an_earlier_try(self, act: Callable[..., AgentRun], tmp_path: Path) -> None:
        (tmp_path / "runs").mkdir()
        (tmp_path / "runs/report.json").write_text('{"status": "of yesterday"}')
        assert says_nothing(act(Behaviour()))

    def test_it_ends_at_the_timeout(self, act: Callable[..., AgentRun], workspace: Path) -> None:
        run = act(Behaviour(seconds=300, write={"late.py": ""}), timeout=0.4)
        assert (run.exit_code, run.timed_out, run.stopped) == (None, True, False)
        assert run.seconds < LONG
        assert not (workspace / "late.py").exists()

    def test_it_ends_when_the_worker_stops(self, act: Callable[..., AgentRun], workspace: Path) -> None:
        stop = threading.Event()
        timer = threading.Timer(0.3, stop.set)
        timer.start()
        begun = time.monotonic()
        run = act(Behaviour(seconds=300, write={"late.py": ""}), stopping=stop.is_set)
        assert (run.exit_code, run.timed_out, run.stopped) == (None, False, True)
        assert time.monotonic() - begun < LONG
        assert not (workspace / "late.py").exists()
