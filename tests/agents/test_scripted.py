"""The scripted agent: its script, its count, its safe hands."""

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from damascus.agents import AgentSetup, make_agent
from damascus.agents.scripted import ScriptedAgent
from damascus.domain.errors import UsageError
from damascus.domain.ports import Agent, AgentRun, Watch
from tests.contracts.agent_contract import a_brief

TOML = """
[[DM-1]]
exit = 75
say = "the provider is away"

[[DM-1]]
write = { "src/app.py" = "x = 1\\n" }
delete = ["old.py"]
[DM-1.report]
status = "done"

[["DM.2"]]
say = "hello"
"""


class Stage:
    """A workspace, and an agent made anew for every act, as after a restart."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.workspace = folder / "workspace"
        self.workspace.mkdir()
        self.watch = Watch(
            prompt="Do it.",
            brief_file=folder / "brief.json",
            report_file=folder / "report.json",
            transcript=folder / "transcript.log",
            timeout=5.0,
            stopping=lambda: False,
            started=lambda _: None,
        )

    def act(self, agent: Agent | list[Mapping[str, object]], **brief: object) -> AgentRun:
        if isinstance(agent, list):
            agent = ScriptedAgent({"DM-1": agent}, state=self.folder / "state")
        return agent.run(a_brief(**brief), self.workspace, self.watch)


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    return Stage(tmp_path)


@pytest.mark.req("T2")
def test_tries_are_counted_by_what_happened_not_by_the_brief(stage: Stage) -> None:
    """An exit 75 burns no attempt, so the brief says 1 again; each act is a new agent, as after a restart."""
    script: list[Mapping[str, object]] = [{"exit": 75}, {"exit": 1}, {"exit": 0}]
    assert [stage.act(script, attempt=1).exit_code for _ in range(5)] == [75, 1, 0, 0, 0]


def test_stories_and_roles_are_counted_apart(stage: Stage) -> None:
    script: list[Mapping[str, object]] = [{"exit": 11}, {"exit": 12}, {"exit": 20, "only_role": "test-author"}]
    assert stage.act(script).exit_code == 11
    assert stage.act(script, role="test-author").exit_code == 11
    assert [stage.act(script).exit_code for _ in range(2)] == [12, 12]
    assert [stage.act(script, role="test-author").exit_code for _ in range(2)] == [12, 20]
    both = ScriptedAgent({"DM-1": [{"exit": 1}], "DM-2": [{"exit": 2}, {"exit": 3}]}, state=stage.folder / "two")
    assert [stage.act(both, story_id=story).exit_code for story in ("DM-1", "DM-2", "DM-2")] == [1, 2, 3]


def test_a_story_that_is_not_in_the_script_fails_by_name(stage: Stage) -> None:
    run = stage.act([{}], story_id="DM-9")
    assert run.exit_code == 1
    assert "nothing for DM-9" in run.tail


@pytest.mark.parametrize("name", ["script.toml", "script.json"])
def test_a_script_from_a_file(stage: Stage, name: str) -> None:
    import tomllib

    text = json.dumps(tomllib.loads(TOML)) if name.endswith("json") else TOML
    (stage.folder / name).write_text(text)
    (stage.workspace / "old.py").touch()
    agent = make_agent("scripted", AgentSetup(name, stage.folder, stage.folder, stage.folder / "state"))
    assert stage.act(agent).exit_code == 75
    run = stage.act(agent)
    assert run.report and run.report.status == "done"
    assert [path.name for path in stage.workspace.rglob("*.py")] == ["app.py"]
    assert "hello" in stage.act(agent, story_id="DM.2").tail


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[[DM-1", "no valid TOML"),
        ("DM-1 = 3", "wrong at DM-1"),
        ("[[DM-1]]\nwirte = {}", "wrong at DM-1.0.wirte"),
        ('[[DM-1]]\ndelete = ["../x"]', "not a path inside the workspace"),
        ('[[DM-1]]\nwrite = { "/etc/x" = "" }', "not a path inside the workspace"),
    ],
)
def test_a_bad_script_is_a_usage_error(stage: Stage, text: str, says: str) -> None:
    (stage.folder / "script.toml").write_text(text)
    with pytest.raises(UsageError, match=says):
        ScriptedAgent.load(stage.folder / "script.toml", state=stage.folder)


def test_a_missing_script_is_a_usage_error(stage: Stage) -> None:
    with pytest.raises(UsageError, match="can't be read"):
        ScriptedAgent.load(stage.folder / "none.toml", state=stage.folder)


@pytest.mark.parametrize("entry", [{"write": {"link/x": "y"}}, {"write": {"file": "y"}}, {"delete": ["link/x"]}])
def test_a_link_is_never_written_through(stage: Stage, entry: Mapping[str, object]) -> None:
    outside = stage.folder / "outside"
    outside.mkdir()
    (outside / "x").write_text("untouched")
    (stage.workspace / "link").symlink_to(outside)
    (stage.workspace / "file").symlink_to(outside / "x")
    run = stage.act([entry])
    assert run.exit_code == 1
    assert "could not change" in run.tail
    assert (outside / "x").read_text() == "untouched"


def test_deleting_a_link_leaves_what_it_leads_to(stage: Stage) -> None:
    (stage.folder / "x").write_text("untouched")
    (stage.workspace / "file").symlink_to(stage.folder / "x")
    assert stage.act([{"delete": ["file", "never-there"]}]).exit_code == 0
    assert list(stage.workspace.iterdir()) == []
    assert (stage.folder / "x").read_text() == "untouched"
