"""Programs without hooks, whatever they are: what is believed of them, and how they are found."""

import itertools
from pathlib import Path

import pytest

from damascus.agents import AgentSetup, make_agent
from damascus.agents.binaries import find_codex, find_opencode
from damascus.domain.errors import DamascusError, UsageError
from damascus.gateway.bridge import GatewayBridge
from tests.headless_agents import CODEX, OPENCODE, Bench, Kind
from tests.model_server import Fault, ModelServer

KINDS = pytest.mark.parametrize("kind", [CODEX, OPENCODE], ids=["codex", "opencode"])


SAYS_ITS_ENVIRONMENT = '[ "$1" = --version ] || env > env.txt'


def a_program(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


@pytest.mark.req("D5")
@KINDS
@pytest.mark.parametrize(
    "prints",
    ["", "echo a stack trace", 'echo \'{"type": "turn.started"}\'', "echo '[\"turn.completed\"]'", "printf '{'"],
)
def test_an_exit_code_of_zero_is_not_trusted(tmp_path: Path, kind: Kind, prints: str) -> None:
    bench = Bench(tmp_path, kind, program=a_program(tmp_path / "bin/agent", prints))
    with ModelServer() as server:
        run = bench.run(server)
    assert (run.exit_code, run.ended, run.unavailable, run.report) == (1, "", "", None)
    assert "stack trace" not in prints or "a stack trace" in run.tail


@pytest.mark.req("D5")
@KINDS
def test_it_gets_the_variables_of_its_checkout(tmp_path: Path, kind: Kind) -> None:
    """Ports and caches of its own, and where a neighbour's commit lies: what every other agent gets."""
    bench = Bench(tmp_path, kind, program=a_program(tmp_path / "bin/agent", SAYS_ITS_ENVIRONMENT))
    with ModelServer() as server:
        bench.run(server, checkout={"DAMASCUS_PORT": "4711", "HOME": "/elsewhere"})
    found = (bench.workspace / "env.txt").read_text().splitlines()
    assert "DAMASCUS_PORT=4711" in found and "HOME=/elsewhere" not in found


@pytest.mark.req("D5")
def test_what_it_says_on_stderr_when_it_can_not_begin_is_told(tmp_path: Path) -> None:
    bench = Bench(tmp_path, CODEX, program=a_program(tmp_path / "bin/agent", "echo no such option >&2; exit 2"))
    with ModelServer() as server:
        run = bench.run(server)
    assert run.exit_code == 2 and "no such option" in run.tail
    assert (tmp_path / "runs/transcript.txt.stderr").read_text() == "no such option\n"


@pytest.mark.req("D5")
@pytest.mark.parametrize("find", [find_codex, find_opencode])
def test_the_program_is_found_by_name_and_on_the_path(tmp_path: Path, find: object) -> None:
    name = "codex" if find is find_codex else "opencode"
    own, on_path = a_program(tmp_path / "own/mine", ""), a_program(tmp_path / f"bin/{name}", "")
    environ = {"PATH": str(tmp_path / "bin")}
    assert callable(find)
    assert find("own/mine", environ, tmp_path) == own
    assert find("", environ) == on_path
    with pytest.raises(UsageError, match="no program that can be run"):
        find("own/other", environ, tmp_path)


@pytest.mark.req("D5")
@pytest.mark.parametrize(("name", "install"), [("codex", "@openai/codex"), ("opencode", "opencode-ai")])
def test_without_a_program_it_says_what_to_install(tmp_path: Path, name: str, install: str) -> None:
    setup = AgentSetup("", tmp_path, tmp_path, tmp_path, environ={"PATH": "/nonexistent"})
    with pytest.raises(DamascusError, match=f"{name} is not installed.*npm install -g {install}"):
        make_agent(name, setup)


@pytest.mark.req("D5")
@pytest.mark.parametrize("name", ["codex", "opencode"])
def test_it_is_made_by_its_name_and_needs_a_gateway(tmp_path: Path, name: str) -> None:
    environ = {"PATH": str(a_program(tmp_path / f"bin/{name}", "").parent)}
    with pytest.raises(UsageError, match=f"{name} needs a model gateway"):
        make_agent(name, AgentSetup("", tmp_path, tmp_path, tmp_path, environ=environ))
    setup = AgentSetup(
        "", tmp_path, tmp_path, tmp_path, environ=environ, bridge=lambda: GatewayBridge("http://127.0.0.1:9")
    )
    assert make_agent(name, setup).name == name


@pytest.mark.req("T1", "D5")
@KINDS
@pytest.mark.parametrize("status", [401, 404])
def test_a_refused_key_or_model_is_told_with_status_address_and_model(
    tmp_path: Path, kind: Kind, status: int
) -> None:  # fmt: skip
    bench = Bench(tmp_path, kind)
    with ModelServer(faults=itertools.repeat(Fault(status=status, message="not with this one"))) as server:
        assert str(status) in bench.agent(server.url).fault("minimax-m3", ping=True)
        assert bench.agent(server.url).fault("minimax-m3", ping=False) == ""
        run = bench.run(server)
        assert run.exit_code != 0
        for word in (str(status), server.url, "minimax-m3", "not with this one"):
            assert word in run.broken, run.broken
