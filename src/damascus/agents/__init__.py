"""The agents, by kind. A new one is a file beside these, a line here and a line in the contract suite."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from damascus.agents.command import CommandAgent
from damascus.agents.scripted import ScriptedAgent
from damascus.domain.errors import UsageError
from damascus.domain.ports import Agent


@dataclass(frozen=True)
class Setup:
    """What an agent is made from. `command` is the agent command, for `scripted` the path of its script.

    `start_folder` is where damascus was started; `homes` and `state` are folders of ours.
    """

    command: str
    start_folder: Path
    homes: Path
    state: Path


def _scripted(setup: Setup) -> Agent:
    if not setup.command:
        raise UsageError("The scripted agent needs a script. Set [agent] command or --agent-command to its path.")
    return ScriptedAgent.load(setup.start_folder / setup.command, state=setup.state)


def _command(setup: Setup) -> Agent:
    return CommandAgent(setup.command, start_folder=setup.start_folder, homes=setup.homes)


AGENTS: dict[str, Callable[[Setup], Agent]] = {"command": _command, "scripted": _scripted}


def make_agent(kind: str, setup: Setup) -> Agent:
    try:
        factory = AGENTS[kind]
    except KeyError:
        raise UsageError(f"There is no agent {kind!r}. Choose one of: {', '.join(sorted(AGENTS))}.") from None
    return factory(setup)
