"""The real Claude Code before a scripted model: what its tests share."""

import os
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from damascus.agents.binaries import find_claude
from damascus.agents.claude.agent import ClaudeAgent
from damascus.agents.model_agent import Patience
from damascus.domain.errors import DamascusError
from damascus.domain.ports import AgentRun, Watch, WriteDecision
from damascus.gateway.bridge import GatewayBridge
from damascus.system.sandbox import Level, seats_at
from tests.contracts.agent_contract import a_brief
from tests.model_server import Block, ModelServer, call
from tests.waiting import LONG

INSTALL = "make components, then PATH=.components/bin:$PATH"


def claude_program() -> Path:
    try:
        return find_claude("", os.environ)
    except DamascusError:
        pytest.skip(f"Claude Code is missing: {INSTALL}")


class Allowing:
    """A pipeline that writes down what it is asked. `before` and `after` may answer otherwise, or not at all."""

    def __init__(
        self,
        before: Callable[[str, Mapping[str, object]], object] | None = None,
        after: Callable[[str, Mapping[str, object]], object] | None = None,
    ) -> None:
        self._before, self._after = before, after
        self.proposed: list[tuple[str, Mapping[str, object]]] = []
        self.applied_: list[tuple[str, Mapping[str, object]]] = []

    def propose(self, tool: str, given: Mapping[str, object]) -> WriteDecision:
        self.proposed.append((tool, given))
        return self._before(tool, given) if self._before else WriteDecision(allowed=True)  # type: ignore[return-value]

    def applied(self, tool: str, given: Mapping[str, object]) -> str:
        self.applied_.append((tool, given))
        return self._after(tool, given) if self._after else ""  # type: ignore[return-value]


@dataclass
class Recorder:
    """An overseer that notes all, and ends when it is told to."""

    signs: list[tuple[str, dict[str, object]]] = field(default_factory=list)
    why: str = ""
    end_on: tuple[str, str] = ("", "")

    def saw(self, sign: str, **facts: object) -> None:
        self.signs.append((sign, facts))
        if sign == self.end_on[0]:
            self.why = self.end_on[1]

    def end(self) -> str:
        return self.why

    def count(self, sign: str) -> int:
        return sum(each == sign for each, _ in self.signs)

    def facts(self, sign: str) -> list[dict[str, object]]:
        return [facts for each, facts in self.signs if each == sign]


@dataclass
class Bench:
    """A workspace, and Claude Code in it."""

    folder: Path
    state: Path
    overseer: Recorder = field(default_factory=Recorder)
    patience: Patience = field(default_factory=Patience)
    level: Level = Level.UNCONFINED
    stop: threading.Event = field(default_factory=threading.Event)
    program: Path = field(default_factory=claude_program)

    @property
    def workspace(self) -> Path:
        return self.folder / "workspace"

    def path(self, name: str) -> str:
        """As Claude Code sees it."""
        return seats_at(self.level, self.workspace, None).inside(self.workspace / name)

    def agent(self, url: str) -> ClaudeAgent:
        return ClaudeAgent(
            self.program, GatewayBridge(url), level=self.level, start_folder=self.folder,
            homes=self.folder / "homes", state=self.state, patience=self.patience,
        )  # fmt: skip

    def run(self, server: ModelServer, writes: object = None, **more: object) -> AgentRun:
        self.workspace.mkdir(exist_ok=True)
        runs = self.folder / "runs"
        given: dict[str, object] = {
            "prompt": "Do it.", "brief_file": runs / "brief.json", "report_file": runs / "report.json",
            "transcript": runs / "transcript.txt", "timeout": 2 * LONG, "stopping": self.stop.is_set,
            "started": lambda _: None, "writes": writes or Allowing(), "overseer": self.overseer, **more,
        }  # fmt: skip
        return self.agent(server.url).run(a_brief(), self.workspace, Watch(**given))  # type: ignore[arg-type]

    @property
    def transcript(self) -> str:
        return (self.folder / "runs/transcript.txt").read_text(encoding="utf-8")


@contextmanager
def variable(name: str, value: str) -> Iterator[None]:
    """A variable of the worker's own environment."""
    os.environ[name] = value
    try:
        yield
    finally:
        del os.environ[name]


def one_write(bench: Bench, content: str = "x\n") -> list[list[Block]]:
    return [[call("Write", file_path=bench.path("a.txt"), content=content)]]
