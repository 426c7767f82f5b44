"""Claude Code as an agent, the default: headless, confined, every write through the pipeline, read while it works.

prepare      the program proved to block (self_test.py), its words and variables (command_line.py)
talk         initialize, prompt, hooks, result (protocol.py)
read         each event: transcript, signs for the overseer, facts (events.py)
end          by itself, or by us: first an interrupt, so that it tells its totals, then signals
tell         AgentRun: what was observed. Its own "success" is a claim, in the report.
"""

from collections.abc import Mapping
from pathlib import Path

from damascus.agents import AgentSetup
from damascus.agents.binaries import find_claude
from damascus.agents.claude.command_line import arguments, settings
from damascus.agents.claude.self_test import untrusted
from damascus.agents.claude.session import ClaudeSession, ReportIsFree, Unchecked
from damascus.agents.model_agent import Model, ModelAgent, Patience
from damascus.agents.seating import SeatedWrites
from damascus.agents.surroundings import Surroundings
from damascus.agents.transcript import Transcript
from damascus.domain.errors import DamascusError, UsageError
from damascus.domain.ports import AgentRun, Brief, Watch
from damascus.domain.signs import EndedBy
from damascus.gateway.bridge import GatewayBridge
from damascus.system.installing import install
from damascus.system.sandbox import Level

FEWEST_TURNS = 50


class ClaudeAgent(ModelAgent):
    """`state` is a folder of ours, where the outcome of the self-test is kept."""

    name = "claude"
    api = "messages"
    keeps_home = True

    def __init__(
        self, program: Path, bridge: GatewayBridge, *, start_folder: Path, homes: Path, state: Path,
        level: Level | None = None, patience: Patience | None = None,
    ) -> None:  # fmt: skip
        super().__init__(program, bridge, start_folder=start_folder, homes=homes, level=level, patience=patience)
        self._state = state

    def prove(self) -> None:
        """Refuse a program whose hooks don't block; said where a person starts it, not in the middle of a story."""
        if why := untrusted(self.program, self._state):
            raise DamascusError(f"{why}. Install another version: {install('claude')}")

    def run(self, brief: Brief, workspace: Path, watch: Watch) -> AgentRun:
        if watch.max_turns < FEWEST_TURNS:
            raise UsageError(
                f"{watch.max_turns} turns end most work unfinished. Set [agent] max_turns to {FEWEST_TURNS} or more."
            )
        return super().run(brief, workspace, watch)

    def refusal(self, workspace: Path) -> str:
        return untrusted(self.program, self._state)

    def refused(self) -> AgentRun:
        return AgentRun(exit_code=None, ended=EndedBy.HOOK)

    def session(self, around: Surroundings, transcript: Transcript) -> ClaudeSession:
        watch = around.watch
        checked = ReportIsFree(watch.writes or Unchecked(), around.report, around.workspace)
        hook_seconds = self.patience.hook_seconds or watch.timeout
        return ClaudeSession(watch, transcript, SeatedWrites(checked, around.seats), hook_seconds)

    def command(self, model: Model, around: Surroundings) -> list[str]:
        more_folders = (around.report.parent, *around.watch.writable)
        return arguments(self.program, model.name, around.watch.max_turns, more_folders)

    def settings(self, model: Model, around: Surroundings) -> Mapping[str, str]:
        patience = model.patience
        return settings(
            model.bridge, model.key, around.config, around.tmp,
            retries=patience.retries, api_seconds=patience.api_seconds,
        )  # fmt: skip


def make(setup: AgentSetup) -> ClaudeAgent:
    agent = ClaudeAgent(
        find_claude(setup.binary, setup.environ, setup.start_folder),
        setup.gateway(ClaudeAgent.name),
        level=setup.level,
        start_folder=setup.start_folder,
        homes=setup.homes,
        state=setup.state,
    )
    agent.prove()
    return agent
