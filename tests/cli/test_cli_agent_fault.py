"""A wrong key, model, gateway or agent command is no story's fault: one question, nobody is charged."""

import itertools
from pathlib import Path

import pytest

from damascus.domain.ports import AgentRun, Usage
from damascus.engine.agent_step import agent_fault
from tests.cli.conftest import Cli
from tests.engine.metered import Metered, says, trouble, works
from tests.engine.shell_stories import FILES, config, good, shell_story
from tests.model_server import Fault, ModelServer
from tests.yard import Yard

NAMES = ("one", "two", "three")
REFUSED = ("api_error", {"status": 401, "resets_in": None})


@pytest.fixture
def yard(tmp_path: Path, database_url: str) -> Yard:
    yard = Yard(tmp_path, database_url, files=FILES, config=config())
    yard.add(*(shell_story(name) for name in NAMES))
    return yard


def an_agent(yard: Yard) -> str:
    """A shell script that does what every story asks."""
    name = '$(python3 -c \'import json, os; print(json.load(open(os.environ["DAMASCUS_BRIEF"]))["story_id"])\')'
    body = good("NAME")["write"]["tests/test_NAME.sh"].replace("NAME", "$name").replace('"', '\\"')
    body = body.replace("$(sh", "\\$(sh").replace("$says", "\\$says")
    script = f'#!/bin/sh\nname={name}\nmkdir -p tests\necho "echo hello $name" > $name.sh\n'
    return script + f'printf "%s" "{body}" > tests/test_$name.sh\n'


def charged_nothing(yard: Yard) -> bool:
    spent = yard.query("SELECT coalesce(sum(tokens), 0) AS n FROM spending WHERE state <> 'reserved'")
    return [yard.item(name)["attempts"] for name in NAMES] == [0, 0, 0] and spent[0]["n"] == 0


@pytest.mark.req("T1", "X4")
@pytest.mark.parametrize("how", ["missing", "not executable", "exit 127"])
def test_an_agent_command_that_can_not_be_started_is_asked_about_once(how: str, yard: Yard, cli: Cli) -> None:
    program = yard.folder / "my-agent"
    if how != "missing":
        program.write_text("#!/bin/sh\nexec no-such-program\n")
        program.chmod(0o755 if how == "exit 127" else 0o644)
    yard.work(str(program), slots=2)
    [question] = yard.questions()
    assert "my-agent" in question and "No agent is sent" in question
    assert all(yard.item(name)["wait_kind"] == "agent" for name in NAMES) and charged_nothing(yard)
    assert sum(len(yard.events(name, "agent.started")) for name in NAMES) <= (2 if how == "exit 127" else 0)
    for words in (("why", "two"), ("inbox",), ("show", "two"), ("logs", "two"), ("status",)):
        assert "my-agent" in " ".join(cli(*words).out.split()), words

    program.write_text(an_agent(yard))
    program.chmod(0o755)
    yard.work(str(program), slots=2)
    assert [yard.item(name)["phase"] for name in NAMES] == ["done"] * 3
    assert yard.questions() == [] and charged_nothing(yard)


@pytest.mark.req("T1", "D15")
def test_the_answer_lets_the_next_agent_go(yard: Yard, cli: Cli) -> None:
    yard.work(Metered(trouble(*[REFUSED] * 4)), slots=1)
    [question] = yard.query("SELECT id, question FROM human_issues WHERE closed_at IS NULL")
    assert "401" in question["question"] and "minimax-m3" in question["question"]
    assert all(yard.item(name)["wait_kind"] == "agent" for name in NAMES) and charged_nothing(yard)
    assert cli("run", "--until-idle", "--agent", "command", "--agent-command", "./nowhere").code == 1
    assert "you must act" in cli("why", "one").out.lower()
    [asked] = yard.query("SELECT id FROM human_issues WHERE closed_at IS NULL")
    assert cli("answer", str(asked["id"]), "1").code == 0
    assert all(yard.item(name)["state"] == "ready" for name in NAMES), "all are woken"
    yard.work(Metered(works()), slots=2)
    assert [yard.item(name)["phase"] for name in NAMES] == ["done"] * 3 and yard.questions() == []


class Pinged(Metered):
    """An agent whose gateway can be asked."""

    pings = True
    fault_ = "the model gateway http://127.0.0.1:4000 answers 404 for model minimax-m3."

    def __init__(self, *acts: object) -> None:
        super().__init__(*acts)  # type: ignore[arg-type]
        self.asked: list[tuple[str, bool]] = []

    def fault(self, model: str, *, ping: bool) -> str:
        self.asked.append((model, ping))
        return self.fault_ if ping else ""


@pytest.mark.req("T1", "D15")
def test_a_ping_before_the_first_agent_holds_all_and_lets_them_go(tmp_path: Path, database_url: str) -> None:
    asks = config().replace("ping = false", "ping = true")
    yard = Yard(tmp_path, database_url, files=FILES, config=asks)
    yard.add(*(shell_story(name) for name in NAMES))
    agent = Pinged(works())
    yard.work(agent, slots=1)
    [question] = yard.questions()
    assert "404" in question and "http://127.0.0.1:4000" in question and "minimax-m3" in question
    assert agent.given == [] and charged_nothing(yard)
    asked = len(agent.asked)
    assert asked <= 3
    agent.fault_ = ""
    agent_fault.look_after(yard.tools(agent))
    assert yard.questions() == []
    yard.work(agent, slots=2)
    assert [yard.item(name)["phase"] for name in NAMES] == ["done"] * 3
    assert len(agent.asked) - asked <= 3, "once for all stories of a worker"


@pytest.mark.req("T1")
def test_a_refusal_in_the_middle_that_the_ping_does_not_meet_is_an_attempt(tmp_path: Path, database_url: str) -> None:
    """Else one text that a gateway forbids would stop the queue, and be sent again and again for nothing."""
    yard = Yard(tmp_path, database_url, files=FILES, config=config().replace("ping = false", "ping = true"))
    yard.add(shell_story("one"), budget=1)
    agent = Pinged(says(AgentRun(exit_code=1, broken="it answers 403", usage=Usage(input_tokens=9, turns=1))))
    agent.fault_ = ""
    yard.work(agent, slots=1)
    assert (yard.item("one")["phase"], yard.item("one")["last_verdict"]) == ("blocked", "agent_failed")


@pytest.mark.req("T1")
def test_the_ping_can_be_turned_off(yard: Yard) -> None:
    agent = Pinged(works())
    yard.work(agent, slots=1)
    assert [yard.item(name)["phase"] for name in NAMES] == ["done"] * 3
    assert not any(ping for _, ping in agent.asked)


@pytest.mark.req("T1")
def test_a_dead_port_a_wrong_key_and_an_unknown_model_are_told_apart() -> None:
    from damascus.gateway.bridge import GatewayBridge

    with ModelServer() as server:
        bridge = GatewayBridge(server.url, "sk-dummy-0123456789")
        assert bridge.fault("messages", "minimax-m3") == ""
        assert server.requests[-1].body["max_tokens"] == 1
        for status, word in ((401, "key"), (403, "key"), (404, "[models]")):
            message = "no such thing: sk-dummy-0123456789"
            server.faults = itertools.repeat(Fault(status=status, message=message))
            told = bridge.fault("messages", "minimax-m3")
            assert str(status) in told and server.url in told and "minimax-m3" in told and word in told
            assert "sk-dummy" not in told
        server.faults = itertools.repeat(Fault(status=503))
        assert bridge.fault("messages", "minimax-m3") == "", "that is no fault of the settings"
        url = server.url
    told = GatewayBridge(url).fault("responses", "minimax-m3")
    assert "can't be reached" in told and url in told and "minimax-m3" in told
