"""The agents, by kind. A new one is a file with a `make`, a line here and a line in the contract suite."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from damascus.domain.errors import UsageError
from damascus.domain.ports import Agent
from damascus.system.sandbox import Level

if TYPE_CHECKING:
    from damascus.gateway.bridge import GatewayBridge


@dataclass(frozen=True)
class AgentSetup:
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

    def gateway(self, agent: str) -> "GatewayBridge":
        if self.bridge is None:
            raise UsageError(f"The agent {agent} needs a model gateway. Set [agent] gateway or ANTHROPIC_BASE_URL.")
        return self.bridge()


AGENTS = {
    "claude": "damascus.agents.claude.agent",
    "codex": "damascus.agents.headless.codex",
    "command": "damascus.agents.command",
    "opencode": "damascus.agents.headless.opencode",
    "scripted": "damascus.agents.scripted",
}
"""Where each one's `make` is. Only the chosen one is loaded: those with a model bring a client for HTTP along."""


def make_agent(kind: str, setup: AgentSetup) -> Agent:
    if kind not in AGENTS:
        raise UsageError(f"There is no agent {kind!r}. Choose one of: {', '.join(sorted(AGENTS))}.")
    make: Callable[[AgentSetup], Agent] = import_module(AGENTS[kind]).make
    return make(setup)
