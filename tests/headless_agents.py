"""The real Codex and opencode before a scripted model: what their tests share."""

import os
import shlex
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from damascus.agents.binaries import find_codex, find_opencode
from damascus.agents.headless.agent import HeadlessAgent
from damascus.agents.headless.codex import CodexAgent
from damascus.agents.headless.opencode import OpencodeAgent
from damascus.agents.model_agent import Patience
from damascus.domain.errors import DamascusError
from damascus.domain.ports import AgentRun, Watch
from damascus.gateway.bridge import GatewayBridge
from damascus.system.sandbox import Level
from tests.claude_code import Recorder
from tests.contracts.agent_contract import a_brief
from tests.model_server import Block, ModelServer, call


def codex_patch(path: str, content: str) -> str:
    added = "".join(f"+{line}\n" for line in content.splitlines())
    return f"apply_patch <<'PATCH'\n*** Begin Patch\n*** Add File: {path}\n{added}*** End Patch\nPATCH\n"


@dataclass(frozen=True)
class Kind:
    """One program: where it is, how its model runs a command and writes a file."""

    agent: type[HeadlessAgent]
    install: str
    find: Callable[..., Path]
    shell: Callable[[str], Block]
    write: Callable[[str, str], Block]

    def program(self) -> Path:
        try:
            return self.find("", os.environ)
        except DamascusError:
            pytest.skip(f"{self.agent.name} is missing: {self.install}")


CODEX = Kind(
    agent=CodexAgent,
    install="make components, then PATH=.components/bin:$PATH",
    find=find_codex,
    shell=lambda command: call("exec_command", cmd=command),
    write=lambda path, content: call("exec_command", cmd=codex_patch(path, content)),
)
OPENCODE = Kind(
    agent=OpencodeAgent,
    install="make components, then PATH=.components/bin:$PATH",
    find=find_opencode,
    shell=lambda command: call("bash", command=command, description="work"),
    write=lambda path, content: call("write", filePath=path, content=content),
)


@dataclass
class Bench:
    """A workspace, and the program in it."""

    folder: Path
    kind: Kind
    overseer: Recorder = field(default_factory=Recorder)
    patience: Patience = field(default_factory=Patience)
    level: Level = Level.UNCONFINED
    stop: threading.Event = field(default_factory=threading.Event)
    program: Path | None = None

    @property
    def workspace(self) -> Path:
        (self.folder / "workspace").mkdir(exist_ok=True)
        return self.folder / "workspace"

    @property
    def files(self) -> list[str]:
        return sorted(path.name for path in self.workspace.iterdir())

    def agent(self, url: str) -> HeadlessAgent:
        return self.kind.agent(
            self.program or self.kind.program(), GatewayBridge(url), level=self.level, start_folder=self.folder,
            homes=self.folder / "homes", patience=self.patience,
        )  # fmt: skip

    def run(self, server: ModelServer, **more: object) -> AgentRun:
        runs = self.folder / "runs"
        given: dict[str, object] = {
            "prompt": "Do it.", "brief_file": runs / "brief.json", "report_file": runs / "report.json",
            "transcript": runs / "transcript.txt", "timeout": 120.0, "stopping": self.stop.is_set,
            "started": lambda _: None, "overseer": self.overseer, **more,
        }  # fmt: skip
        return self.agent(server.url).run(a_brief(), self.workspace, Watch(**given))  # type: ignore[arg-type]

    @property
    def transcript(self) -> str:
        return (self.folder / "runs/transcript.txt").read_text(encoding="utf-8")

    @property
    def events(self) -> str:
        return (self.folder / "runs/transcript.txt.jsonl").read_text(encoding="utf-8")


@contextmanager
def a_listener() -> Iterator[socket.socket]:
    """On the machine's own loopback, where no confined agent can come."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.setblocking(False)
        yield listener


def knock(listener: socket.socket) -> str:
    """A command that tries to reach it, past every proxy that a variable names."""
    port = listener.getsockname()[1]
    program = f"import socket; socket.create_connection(('127.0.0.1', {port}), 3)"
    return f"python3 -c {shlex.quote(program)} 2> knock.txt; echo $? >> knock.txt"


def nobody_came(listener: socket.socket) -> bool:
    try:
        listener.accept()
    except BlockingIOError:
        return True
    return False
