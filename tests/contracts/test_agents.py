"""Every agent adapter, held to the one contract."""

import json
import shlex
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path

import pytest

from damascus.agents.command import CommandAgent
from damascus.agents.scripted import ScriptedAgent
from damascus.domain.ports import Agent, AgentRun
from tests.claude_code import Bench
from tests.contracts.agent_contract import AgentContract, Behaviour, Make, TellsItsExitCode
from tests.headless_agents import CODEX, OPENCODE, Kind
from tests.headless_agents import Bench as HeadlessBench
from tests.model_server import Block, ModelServer, call, say

PROGRAM = """
import json, os, sys, time
from pathlib import Path

behaviour = json.loads(Path(sys.argv[1]).read_text())
sys.stdout.reconfigure(encoding="utf-8")
print(sys.stdin.buffer.read().decode(), flush=True)
time.sleep(behaviour["seconds"])
for path, content in behaviour["write"].items():
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_text(content, encoding="utf-8")
for path in behaviour["delete"]:
    Path(path).unlink()
if behaviour["report"] is not None:
    Path(os.environ["DAMASCUS_REPORT"]).write_text(behaviour["report"])
print(behaviour["say"])
sys.exit(behaviour["exit"])
"""


class TestCommand(AgentContract, TellsItsExitCode):
    @pytest.fixture
    def make(self) -> Make:
        def make(behaviour: Behaviour, folder: Path) -> Agent:
            folder.mkdir(exist_ok=True)
            (folder / "agent.py").write_text(PROGRAM)
            (folder / "behaviour.json").write_text(json.dumps(asdict(behaviour)))
            command = shlex.join([sys.executable, "agent.py", str(folder / "behaviour.json")])
            return CommandAgent(command, start_folder=folder, homes=folder / "homes")

        return make


class TestScripted(AgentContract, TellsItsExitCode):
    @pytest.fixture
    def make(self) -> Make:
        def make(behaviour: Behaviour, folder: Path) -> Agent:
            return ScriptedAgent({"DM-1": [asdict(behaviour)]}, state=folder / "state")

        return make


@pytest.fixture(scope="module")
def state(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The self-test is made once."""
    return tmp_path_factory.mktemp("claude-state")


class TestClaude(AgentContract):
    """The real program; what it does is in the script of its model."""

    @pytest.fixture
    def make(self, state: Path) -> Iterator[Make]:
        with ExitStack() as stack:

            def make(behaviour: Behaviour, folder: Path) -> Agent:
                folder.mkdir(exist_ok=True)
                server = stack.enter_context(ModelServer([*turns(behaviour, folder), [say(behaviour.say or "done")]]))
                return Bench(folder, state).agent(server.url)

            yield make


class Headless(AgentContract):
    """A real program without hooks; what it does is in the script of its model."""

    kind: Kind

    @pytest.fixture
    def make(self) -> Iterator[Make]:
        with ExitStack() as stack:

            def make(behaviour: Behaviour, folder: Path) -> Agent:
                folder.mkdir(exist_ok=True)
                work = [[self.kind.shell(command)] for command in commands(behaviour, folder)]
                work += [[self.kind.write(path, content)] for path, content in behaviour.write.items()]
                server = stack.enter_context(ModelServer([*work, [say(behaviour.say or "done")]]))
                return HeadlessBench(folder, self.kind).agent(server.url)

            yield make


class TestCodex(Headless):
    kind = CODEX


class TestOpencode(Headless):
    """It takes seconds to start: one junk report stands for all."""

    kind = OPENCODE
    limit = 120.0

    @pytest.mark.parametrize("junk", ["{"])
    def test_a_junk_report_is_no_report(self, act: Callable[..., AgentRun], junk: str) -> None:
        super().test_a_junk_report_is_no_report(act, junk)


def commands(behaviour: Behaviour, folder: Path) -> list[str]:
    """What the behaviour comes to in a shell, but for its writes."""
    found = [f"rm {shlex.quote(path)}" for path in behaviour.delete]
    if behaviour.seconds:
        found.insert(0, f"sleep {behaviour.seconds}")
    if behaviour.report is not None:
        (folder / "report").write_text(behaviour.report)
        found.append(f'cp {shlex.quote(str(folder / "report"))} "$DAMASCUS_REPORT"')
    return found


def turns(behaviour: Behaviour, folder: Path) -> Iterator[list[Block]]:
    for command in commands(behaviour, folder):
        yield [call("Bash", command=command, description="work")]
    for path, content in behaviour.write.items():
        yield [call("Write", file_path=path, content=content)]
