"""doctor approves only what can work, alarms only where something is wrong, and shows why main is red."""

import itertools
import os
import sys
from pathlib import Path

import pytest

from tests.agents.upstream import free_port
from tests.cli.conftest import Cli
from tests.cli.test_cli_setup import checks, fresh, git
from tests.model_server import Fault, ModelServer
from tests.yard import CONFIG, Yard

__all__ = ["fresh"]

PINGS = CONFIG.replace("ping = false", "ping = true")


def a_program(yard: Yard) -> str:
    """In codex' place: doctor only has to find it."""
    program = yard.folder / "codex"
    program.write_text("#!/bin/sh\necho codex 1\n")
    program.chmod(0o755)
    return f"kind = 'codex'\nbinary = '{program}'\n"


def agent_of(yard: Yard, cli: Cli, gateway: str, config: str = PINGS) -> tuple[str, str]:
    lines = f"[agent]\n{a_program(yard)}gateway = '{gateway}'\n"
    yard.commit({"damascus.toml": config.replace("[agent]\n", lines)}, "settings")
    return checks(cli)[1]["agent"]


@pytest.mark.req("T1")
def test_a_gateway_on_a_dead_port_fails(yard: Yard, cli: Cli) -> None:
    url = f"http://127.0.0.1:{free_port()}"
    state, says = agent_of(yard, cli, url)
    assert state == "fail" and url in says and "can't be reached" in says and "minimax-m3" in says
    assert agent_of(yard, cli, url, CONFIG)[0] == "ok", "it is not asked where [agent] ping is off"


@pytest.mark.req("T1")
def test_a_refused_key_or_model_fails_and_an_answer_is_ok(yard: Yard, cli: Cli) -> None:
    with ModelServer() as server:
        state, says = agent_of(yard, cli, server.url)
        assert (state, server.url in says) == ("ok", True), says
        assert len(server.requests) == 1, "fast and strong are one model"
        server.faults = itertools.repeat(Fault(status=404, message="there is no such model"))
        code, found = checks(cli)
        assert code == 1 and found["agent"][0] == "fail"
        for word in ("404", server.url, "minimax-m3", "there is no such model"):
            assert word in found["agent"][1]


def test_a_gate_that_is_red_on_main_fails_with_its_first_error(yard: Yard, cli: Cli) -> None:
    gates = "[gates.commands]\nlint = \"echo begins; echo 'lint.py:3: error: tabs' >&2; exit 3\"\ntypes = 'true'\n"
    yard.commit({"damascus.toml": CONFIG + gates}, "settings")
    code, found = checks(cli, "--test")
    assert code == 1 and found["gate lint"][0] == "fail" and found["gate types"][0] == "ok"
    assert "lint.py:3: error: tabs" in found["gate lint"][1] and "charged to no story" in found["gate lint"][1]


def test_a_linter_that_main_asks_for_and_nobody_installed_is_told_and_fails_nothing(yard: Yard, cli: Cli) -> None:
    yard.commit({".flake8": "[flake8]\n", "calc.py": "", "pyproject.toml": ""}, "settings")
    code, found = checks(cli, "--test")
    state, says = found["gate lint"]
    assert (code, state) == (0, "warn"), found
    assert "flake8" in says and "lists it as not verified" in says


@pytest.mark.parametrize(
    ("line", "setup"),
    [
        ("ModuleNotFoundError: No module named 'requests'", "pip install"),
        ("Error: Cannot find module 'left-pad'", "npm ci"),
        ("calc.go:4:2: no required module provides package example.com/x", "go mod download"),
        ("error[E0463]: can't find crate for `serde`", "cargo fetch"),
    ],
)
def test_a_missing_package_hints_at_the_set_up(line: str, setup: str, yard: Yard, cli: Cli) -> None:
    yard.commit(
        {"say.txt": f"first line\n{line}\n", "damascus.toml": CONFIG.replace('"none"', "'cat say.txt; false'")}, "s"
    )
    _, found = checks(cli, "--test")
    state, says = found["tests"]
    assert state == "fail" and line in says and "[workspace] setup" in says and setup in says


NPM = "> @fastify/error@4.2.1 test\n> c8 node --test\n\nsh: 1: c8: not found\n"


@pytest.mark.parametrize(
    ("files", "said", "first", "setup"),
    [
        ({"package.json": "{}"}, NPM, "First error: sh: 1: c8: not found.", 'setup = "npm install"'),
        ({"package.json": "{}", "package-lock.json": "{}"}, NPM, "First error: sh: 1: c8: not found.", '"npm ci"'),
        ({"pyproject.toml": ""}, "No module named 'a'\n", "No module named 'a'.", "pip install -e . pytest"),
        ({"pyproject.toml": "", "requirements.txt": ""}, "No module named 'a'\n", "'a'.", "-r requirements.txt"),
    ],
)
def test_the_hint_names_what_the_repository_has(
    files: dict[str, str], said: str, first: str, setup: str, yard: Yard, cli: Cli
) -> None:
    code = 127 if said is NPM else 1
    settings = CONFIG.replace('"none"', f"'cat say.txt; exit {code}'")
    yard.commit({"say.txt": said, "damascus.toml": settings, **files}, "s")
    says = checks(cli, "--test")[1]["tests"][1]
    assert first in says and setup in says


def test_settings_that_can_not_be_read_fail_once(yard: Yard, cli: Cli) -> None:
    yard.commit({"damascus.toml": "[limits\n"}, "settings")
    told = " ".join(cli("doctor").out.split())
    assert told.count("is not valid TOML") == 1 and "docs/config.md" in told


def test_the_set_up_is_run_too(yard: Yard, cli: Cli) -> None:
    yard.commit({"damascus.toml": CONFIG + '[workspace]\nsetup = "echo no such mirror >&2; exit 4"\n'}, "settings")
    code, found = checks(cli, "--test")
    assert code == 1 and found["set-up"][0] == "fail"
    assert "failed (exit 4)" in found["set-up"][1] and found["set-up"][1].endswith(" First error: no such mirror.")
    yard.commit({"damascus.toml": CONFIG + '[workspace]\nsetup = "touch made"\n[ci.jobs]\nx = "ls made"\n'}, "settings")
    code, found = checks(cli, "--test")
    assert (code, found["set-up"][0], found["ci x"][0]) == (0, "ok", "ok")


def test_a_set_up_that_looks_for_its_version_in_git_is_told_the_cure(yard: Yard, cli: Cli) -> None:
    said = "error: metadata-generation-failed\nLookupError: setuptools-scm was unable to detect version for /mnt\n"
    setup = '[workspace]\nsetup = "cat say.txt; exit 1"\n'
    yard.commit({"say.txt": said, "damascus.toml": CONFIG + setup}, "settings")
    says = checks(cli, "--test")[1]["set-up"][1]
    assert "First error: LookupError: setuptools-scm was unable to detect version" in says
    assert "no git history" in says and "SETUPTOOLS_SCM_PRETEND_VERSION" in says


def test_the_variables_of_env_reach_the_set_up(yard: Yard, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PRETENDED", "4.17.0")
    setup = "[workspace]\nsetup = 'test \"$PRETENDED\" = 4.17.0'\nenv = ['PRETENDED']\n"
    yard.commit({"damascus.toml": CONFIG + setup}, "settings")
    assert checks(cli, "--test")[1]["set-up"][0] == "ok"


def test_a_forge_that_was_stopped_fails(yard: Yard, cli: Cli) -> None:
    forge = f"[forge]\nkind = 'gitea'\nurl = 'http://127.0.0.1:{free_port()}/ada/calc'\n"
    yard.commit({"damascus.toml": CONFIG + forge}, "settings")
    (yard.folder / "home/forge").mkdir(parents=True)
    (yard.folder / "home/forge/token").write_text("dummy\n")
    _, found = checks(cli)
    assert found["forge"][0] == "fail" and "damascus forge try" in found["forge"][1]


def test_settings_off_main_are_never_said_to_be_on_main(fresh: Path, command: Cli) -> None:
    command("init", "--yes")
    _, found = checks(command)
    assert found["settings"][0] == "fail"
    assert "on main" not in found["suite"][1] and "your folder" in found["suite"][1]


@pytest.mark.req("F14")
def test_the_repository_of_the_first_steps_has_nothing_to_note_but_the_agent(
    fresh: Path, command: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ANTHROPIC_BASE_URL", raising=False)
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:/usr/bin:/bin")
    git("rm", "-rq", "tests")
    git("commit", "-qm", "no tests yet")
    command("init", "--yes", "--commit")
    _, found = checks(command, "--test")
    noted = {name: told for name, told in found.items() if told[0] != "ok" and name != "sandbox"}
    assert set(noted) == {"agent"}, noted


def test_a_python_of_our_own_is_noted_where_tests_would_use_it(
    fresh: Path, command: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    command("init", "--yes", "--commit")
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:/usr/bin:/bin")
    _, found = checks(command)
    assert found["python"][0] == "warn" and "Damascus' own" in found["python"][1]
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    assert "python" not in checks(command)[1]


@pytest.mark.req("F5.1")
def test_the_tools_of_full_mutation_are_named_with_the_command_that_installs_them(
    yard: Yard, cli: Cli, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert "mutation" not in checks(cli)[1]
    yard.commit({"damascus.toml": CONFIG.replace('"off"', '"full"')}, "full")
    said = checks(cli)[1]["mutation"]
    assert said[0] == "warn" and "Install it: pip install mutmut==3.8.0" in said[1]
    tool = tmp_path / "tools" / "mutmut"
    tool.parent.mkdir()
    tool.write_text("#!/bin/sh\n")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tool.parent}:{os.environ['PATH']}")
    assert checks(cli)[1]["mutation"] == ("ok", f"mutmut makes the mutants of python: {tool}")
