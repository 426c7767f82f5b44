"""Every agent adapter, held to the one contract."""

import json
import shlex
import sys
from dataclasses import asdict
from pathlib import Path

import pytest

from damascus.agents.command import CommandAgent
from damascus.agents.scripted import ScriptedAgent
from damascus.domain.ports import Agent
from tests.contracts.agent_contract import AgentContract, Behaviour, Make

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


class TestCommand(AgentContract):
    @pytest.fixture
    def make(self) -> Make:
        def make(behaviour: Behaviour, folder: Path) -> Agent:
            folder.mkdir(exist_ok=True)
            (folder / "agent.py").write_text(PROGRAM)
            (folder / "behaviour.json").write_text(json.dumps(asdict(behaviour)))
            command = shlex.join([sys.executable, "agent.py", str(folder / "behaviour.json")])
            return CommandAgent(command, start_folder=folder, homes=folder / "homes")

        return make


class TestScripted(AgentContract):
    @pytest.fixture
    def make(self) -> Make:
        def make(behaviour: Behaviour, folder: Path) -> Agent:
            return ScriptedAgent({"DM-1": [asdict(behaviour)]}, state=folder / "state")

        return make
