"""init writes the gate commands that it finds, doctor shows and runs them, run says what nobody wrote down."""

import json
from pathlib import Path

import pytest

from damascus.domain.config import parse_config
from tests.cli.conftest import Cli
from tests.cli.test_cli_setup import checks, fresh, git
from tests.toolchains import need_program
from tests.yard import CONFIG, Yard

__all__ = ["fresh"]

pytestmark = pytest.mark.req("A6", "A17")

LINTED = json.dumps({"scripts": {"lint": "test ! -e bad.js", "agent:check": "true"}})


def test_init_writes_what_it_finds_as_lines_that_hold(fresh: Path, command: Cli) -> None:
    need_program("npm")
    (fresh / "package.json").write_text(LINTED)
    (fresh / "ruff.toml").write_text("")
    git("add", "-A")
    git("commit", "-qm", "linted")
    ran = command("init", "--yes", "--commit")
    assert "agent:check by: npm run agent:check" in ran.out, ran.err
    text = (fresh / "damascus.toml").read_text()
    asked = parse_config(text).gates.commands
    assert asked["agent:check"] == "npm run agent:check" and "npm run lint" in asked.values()
    told = command("doctor", "--json").json["checks"]
    (said,) = [check["says"] for check in told if check["name"] == "gate commands"]
    assert "agent:check `npm run agent:check`" in said


def test_init_writes_what_can_not_be_started_as_a_remark(
    fresh: Path, command: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a line it would refuse every story."""
    (fresh / ".flake8").write_text("")
    git("add", "-A")
    git("commit", "-qm", "linted")
    monkeypatch.setattr("shutil.which", lambda program, *_, **__: None)
    assert command("init", "--yes").code == 0
    text = (fresh / "damascus.toml").read_text()
    assert '# lint = "flake8"  # flake8 is not here' in text and parse_config(text).gates.commands == {}


def test_init_writes_an_example_where_nothing_is_found(fresh: Path, command: Cli) -> None:
    assert command("init", "--yes").code == 0
    text = (fresh / "damascus.toml").read_text()
    assert '# lint = "make lint"' in text and parse_config(text).gates.commands == {}


def test_doctor_shows_and_runs_what_was_found(yard: Yard, cli: Cli) -> None:
    need_program("npm")
    none = "[gates.commands]\ntypes = 'none'\n"
    yard.commit({"package.json": LINTED, "damascus.toml": CONFIG + none}, "linted")
    code, found = checks(cli, "--test")
    state, said = found["gate commands"]
    assert (state, code) == ("ok", 0)
    assert "lint `npm run lint` (found from main's files)" in said and "types: there is none" in said
    assert found["gate lint"][0] == found["gate agent:check"][0] == "ok"
    yard.commit({"bad.js": "1;\n"}, "main is red")
    code, found = checks(cli, "--test")
    assert (code, found["gate lint"][0]) == (1, "fail") and "charged to no story" in found["gate lint"][1]


def test_run_says_what_was_found(yard: Yard, cli: Cli) -> None:
    words = ("run", "--until-idle", "--agent", "command", "--agent-command", "true")
    yard.commit({"package.json": LINTED}, "linted")
    told = cli(*words).error
    assert "every candidate passes lint `npm run lint`, agent:check `npm run agent:check` too" in told
    assert "write them under [gates.commands]" in told
