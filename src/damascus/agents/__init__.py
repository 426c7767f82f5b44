"""The agents, by kind. A new one is a file beside these, a line here and a line in the contract suite."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from damascus.agents.command import CommandAgent
from damascus.agents.scripted import ScriptedAgent
from damascus.domain.errors import UsageError
from damascus.domain.ports import Agent
from damascus.system.sandbox import Level

if TYPE_CHECKING:
    from damascus.agents.gateway import GatewayBridge
    from damascus.agents.headless import HeadlessAgent


@dataclass(frozen=True)
class Setup:
    """What an agent is made from. `command` is the agent command, for `scripted` the path of its script.

    `start_folder` is where damascus was started; `homes` and `state` are folders of ours. For agents with a model:
    `binary` their program if the person named one, `bridge` opens the gateway when first asked, `level` confines
    all that are programs; None: as well as this machine can.
    """

    command: str
    start_folder: Path
    homes: Path
    state: Path
    binary: str = ""
    environ: Mapping[str, str] = field(default_factory=dict)
    bridge: "Callable[[], GatewayBridge] | None" = None
    level: Level | None = None


def _scripted(setup: Setup) -> Agent:
    if not setup.command:
        raise UsageError("The scripted agent needs a script. Set [agent] command or --agent-command to its path.")
    return ScriptedAgent.load(setup.start_folder / setup.command, state=setup.state)


def _command(setup: Setup) -> Agent:
    return CommandAgent(setup.command, start_folder=setup.start_folder, homes=setup.homes, level=setup.level)


def _claude(setup: Setup) -> Agent:
    from damascus.agents.binaries import find_claude
    from damascus.agents.claude import ClaudeAgent

    program = find_claude(setup.binary, setup.environ, setup.start_folder)
    if setup.bridge is None:
        raise UsageError("The agent claude needs a model gateway. Set [agent] gateway or ANTHROPIC_BASE_URL.")
    agent = ClaudeAgent(
        program,
        setup.bridge(),
        level=setup.level,
        start_folder=setup.start_folder,
        homes=setup.homes,
        state=setup.state,
    )
    agent.prove()
    return agent


def _codex(setup: Setup) -> Agent:
    from damascus.agents.binaries import find_codex
    from damascus.agents.codex import CodexAgent

    return _headless(CodexAgent, find_codex(setup.binary, setup.environ, setup.start_folder), setup)


def _opencode(setup: Setup) -> Agent:
    from damascus.agents.binaries import find_opencode
    from damascus.agents.opencode import OpencodeAgent

    return _headless(OpencodeAgent, find_opencode(setup.binary, setup.environ, setup.start_folder), setup)


def _headless(kind: "type[HeadlessAgent]", program: Path, setup: Setup) -> Agent:
    if setup.bridge is None:
        raise UsageError(f"The agent {kind.name} needs a model gateway. Set [agent] gateway or ANTHROPIC_BASE_URL.")
    return kind(program, setup.bridge(), level=setup.level, start_folder=setup.start_folder, homes=setup.homes)


AGENTS: dict[str, Callable[[Setup], Agent]] = {
    "claude": _claude,
    "codex": _codex,
    "command": _command,
    "opencode": _opencode,
    "scripted": _scripted,
}


def make_agent(kind: str, setup: Setup) -> Agent:
    try:
        factory = AGENTS[kind]
    except KeyError:
        raise UsageError(f"There is no agent {kind!r}. Choose one of: {', '.join(sorted(AGENTS))}.") from None
    return factory(setup)
