"""init, doctor, db: before the first story."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from damascus.cli.pages import pages
from damascus.domain.config import parse_config
from tests.cli.conftest import Cli
from tests.yard import CONFIG, PERSON, START, Yard, python


@pytest.fixture
def fresh(tmp_path: Path, database_url: str, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A Python repository that Damascus has never seen, as the current folder."""
    repo = tmp_path / "calc"
    repo.mkdir()
    for name, value in {**PERSON, "DAMASCUS_DATABASE_URL": database_url, "DAMASCUS_HOME": f"{tmp_path}/home"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(repo)
    for name, text in START.items():
        (repo / name).parent.mkdir(exist_ok=True)
        (repo / name).write_text(text)
    git("init", "-q", "-b", "main")
    git("add", "-A")
    git("commit", "-qm", "start")
    return repo


def git(*words: str) -> str:
    return subprocess.run(["git", *words], capture_output=True, text=True, check=True).stdout.strip()


def test_init_finds_stack_branch_and_tests_and_writes_a_valid_file(fresh: Path, command: Cli) -> None:
    ran = command("init", "--yes")
    assert ran.code == 0, ran.err
    assert "calc: python, lands on main, tests run by: python3 -m pytest -q" in ran.out
    assert "git add damascus.toml && git commit -m 'damascus: settings' -- damascus.toml" in ran.out
    written = parse_config((fresh / "damascus.toml").read_text())
    assert (written.project.name, written.test.command) == ("calc", "python3 -m pytest -q")
    assert git("status", "--porcelain") == "?? damascus.toml"
    assert command("status").code == 0


def test_init_writes_no_command_where_there_is_no_test(fresh: Path, command: Cli) -> None:
    git("rm", "-rq", "tests")
    git("commit", "-qm", "no tests")
    ran = command("init", "--yes", "--commit")
    assert "no tests found; each spec names its own" in ran.out
    assert '# command = "make test"' in (fresh / "damascus.toml").read_text()
    assert "the project's own suite: there is none" in command("status").out


def test_init_never_asks_without_a_terminal(fresh: Path) -> None:
    program = Path(sys.executable).parent / "damascus"
    ran = subprocess.run([program, "init"], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
    assert ran.returncode == 0, ran.stderr
    assert (fresh / "damascus.toml").exists()


def test_init_asks_on_a_terminal_and_takes_no_for_an_answer(fresh: Path) -> None:
    import pty

    ours, theirs = pty.openpty()
    program = Path(sys.executable).parent / "damascus"
    with subprocess.Popen([program, "init"], stdin=theirs, stdout=theirs, stderr=subprocess.PIPE, text=True) as asked:
        os.write(ours, b"n\n")
        assert asked.wait(60) == 1
        assert asked.stderr is not None and "nothing was changed" in asked.stderr.read()
    os.close(ours)
    os.close(theirs)
    assert not (fresh / "damascus.toml").exists()
    assert "damascus.project" not in git("config", "--list")


def test_init_commits_only_its_file(fresh: Path, command: Cli) -> None:
    (fresh / "calc.py").write_text("def one():\n    return 2\n")
    git("add", "calc.py")
    ran = command("init", "--yes", "--commit")
    assert ran.code == 0, ran.err
    assert "damascus.toml is committed on main" in ran.out
    assert git("show", "--name-only", "--format=%an", "HEAD").split() == ["Ada", "damascus.toml"]
    assert git("status", "--porcelain") == "M  calc.py"
    assert "damascus.toml is on main" in command("init", "--yes", "--commit").out


def test_init_does_not_commit_on_another_branch(fresh: Path, command: Cli) -> None:
    git("switch", "-qc", "mine")
    ran = command("init", "--yes", "--commit")
    assert ran.code == 0
    assert "git switch main && git add damascus.toml" in ran.out
    assert git("log", "--format=%s") == "start"


def test_init_keeps_a_file_that_is_there(fresh: Path, command: Cli) -> None:
    (fresh / "damascus.toml").write_text("[limits]\nslots = 3\n")
    assert "kept as it is" in command("init", "--yes").out
    assert (fresh / "damascus.toml").read_text() == "[limits]\nslots = 3\n"


def test_init_says_what_git_said_when_it_can_not_commit(
    fresh: Path, command: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    hook = fresh / ".git/hooks/pre-commit"
    hook.write_text("#!/bin/sh\necho no commits on Fridays >&2\nexit 1\n")
    hook.chmod(0o755)
    ran = command("init", "--yes", "--commit")
    assert ran.code == 1
    assert "git could not commit damascus.toml: no commits on Fridays" in ran.error


@pytest.mark.parametrize(
    ("words", "kind", "gateway", "exported"),
    [
        (("anthropic",), "claude", "https://api.anthropic.com", "export ANTHROPIC_API_KEY=…"),
        (("litellm",), "claude", "", "export MODEL_KEY=… && damascus gateway --upstream"),
        (
            ("openai", "--gateway", "http://127.0.0.1:9/v1"), "opencode", "http://127.0.0.1:9/v1",
            "export ANTHROPIC_BASE_URL=http://127.0.0.1:9/v1 ANTHROPIC_AUTH_TOKEN=…",
        ),
    ],
)  # fmt: skip
def test_init_writes_a_way_to_a_model_and_says_what_to_export(
    words: tuple[str, ...], kind: str, gateway: str, exported: str, fresh: Path, command: Cli
) -> None:
    ran = command("init", "--yes", "--preset", *words)
    assert ran.code == 0 and exported in " ".join(ran.out.split()), ran.err
    written = parse_config((fresh / "damascus.toml").read_text())
    assert (written.agent.kind, written.agent.gateway) == (kind, gateway)
    assert "minimax" not in written.models.fast or words[0] != "anthropic"


def test_init_refuses_a_preset_that_is_none_before_it_writes(fresh: Path, command: Cli) -> None:
    assert command("init", "--yes", "--preset", "azure").code == 2
    assert command("init", "--yes", "--gateway", "http://127.0.0.1:9").code == 2
    assert command("init", "--yes", "--preset", "openai", "--gateway", "gateway.example.com").code == 2
    assert not (fresh / "damascus.toml").exists()


def test_init_asks_for_the_way_to_a_model_at_a_terminal(fresh: Path) -> None:
    import pty

    ours, theirs = pty.openpty()
    program = Path(sys.executable).parent / "damascus"
    with subprocess.Popen([program, "init"], stdin=theirs, stdout=theirs, stderr=subprocess.PIPE, text=True) as asked:
        os.write(ours, b"y\nanthropic\n")
        assert asked.wait(60) == 0
    os.close(ours)
    os.close(theirs)
    assert 'gateway = "https://api.anthropic.com"' in (fresh / "damascus.toml").read_text()


def test_a_key_of_anthropics_own_may_go_to_anthropic_and_nowhere_else() -> None:
    from damascus.domain.errors import DamascusError
    from damascus.gateway.bridge import GatewayBridge

    key, url = {"ANTHROPIC_API_KEY": "sk-dummy"}, "https://api.anthropic.com"
    assert GatewayBridge.from_environment(key, url).url == url
    for environ in ({"ANTHROPIC_AUTH_TOKEN": "sk-dummy"}, {**key, "ANTHROPIC_BASE_URL": "https://gateway.example.com"}):
        with pytest.raises(DamascusError, match="nothing of yours says"):
            GatewayBridge.from_environment(environ, url)


# ── doctor ────────────────────────────────────────────────────────────────────────────────────────────


def checks(cli: Cli, *words: str) -> tuple[int, dict[str, tuple[str, str]]]:
    ran = cli("doctor", "--json", *words)
    return ran.code, {check["name"]: (check["state"], check["says"]) for check in ran.json["checks"]}


def test_doctor_checks_everything_and_says_what_to_do(yard: Yard, cli: Cli) -> None:
    code, found = checks(cli)
    assert code == 0
    assert {name: state for name, (state, _) in found.items()} == {
        "git": "ok", "database": "ok", "repository": "ok", "settings": "ok", "suite": "ok", "agent": "warn",
        "sandbox": "ok", "disk": "ok",
    }  # fmt: skip
    assert "bubblewrap" in found["sandbox"][1]
    assert "ANTHROPIC_BASE_URL" in found["agent"][1] or "-m pip install" in found["agent"][1]
    told = cli("doctor").out
    assert "ok    git" in told and "note  agent" in told


def test_doctor_fails_what_would_stop_a_story(yard: Yard, cli: Cli) -> None:
    yard.commit(
        {"damascus.toml": "[agent]\nkind = 'command'\ncommand = './no-such'\n[limits]\ndisk_reserve_mb = 99999999\n"},
        "settings",
    )
    code, found = checks(cli)
    assert code == 1
    assert found["agent"] == ("fail", "the program ./no-such is not there or not executable. Correct [agent] command.")
    assert found["disk"][0] == "fail"
    assert "FAIL  agent" in cli("doctor").out


def test_doctor_names_settings_that_are_not_on_main(yard: Yard, cli: Cli) -> None:
    yard.git("rm", "-q", "--cached", "damascus.toml")
    yard.git("commit", "-qm", "gone")
    code, found = checks(cli)
    assert code == 1
    assert found["settings"][0] == "fail" and "git add damascus.toml" in found["settings"][1]


def test_doctor_in_a_folder_that_is_no_project(fresh: Path, command: Cli) -> None:
    code, found = checks(command)
    assert code == 1
    assert found["project"][0] == "fail" and "damascus init" in found["project"][1]


def test_doctor_refuses_a_kind_of_repository_by_name(yard: Yard, cli: Cli) -> None:
    yard.commit({".gitattributes": "*.bin filter=lfs\n"}, "lfs")
    code, found = checks(cli)
    assert code == 1
    assert found["repository"][0] == "fail" and "Git LFS" in found["repository"][1]


@pytest.mark.req("D6")
@pytest.mark.parametrize(
    ("line", "state", "said"),
    [
        ("", "ok", "`python3 -m pytest -q` (found from main's files). Write it there"),
        ("command = 'make check'", "ok", "`make check` ([test] command in damascus.toml on main)"),
        ("command = 'none'", "none", "the project's own suite: there is none, and every receipt says so"),
    ],
)
def test_doctor_and_status_say_what_the_suite_is(line: str, state: str, said: str, yard: Yard, cli: Cli) -> None:
    yard.commit({"damascus.toml": CONFIG.replace('command = "none"', line)}, "settings")
    _, found = checks(cli)
    assert found["suite"][0] == "ok" and said in found["suite"][1]
    assert ("the project's own suite: there is none" in cli("status").out) == (state == "none")


@pytest.mark.req("D6")
def test_run_says_once_that_a_suite_was_found(yard: Yard, cli: Cli) -> None:
    """A damascus.toml from before: stories that wait in the queue get the new default, and it is said."""
    words = ("run", "--until-idle", "--agent", "command", "--agent-command", "true")
    assert "note" not in cli(*words).err
    yard.commit({"damascus.toml": CONFIG.replace('command = "none"', "")}, "as before")
    told = cli(*words).error
    assert "every candidate passes `python3 -m pytest -q` too, found from main's files; write it as command" in told


@pytest.mark.req("D6")
@pytest.mark.parametrize(
    ("suite", "said"),
    [
        ("./nowhere", "It can't be started there"),
        ("sh -c 'exit 1'", "charged to no story"),
    ],
)
def test_doctor_says_that_main_is_red(suite: str, said: str, yard: Yard, cli: Cli) -> None:
    yard.commit({"damascus.toml": CONFIG.replace('"none"', f'"{suite}"')}, "settings")
    code, found = checks(cli, "--test")
    assert (code, found["tests"][0]) == (1, "fail") and said in found["tests"][1]


@pytest.mark.parametrize(("expected", "state"), [("1", "ok"), ("2", "fail")])
def test_doctor_runs_the_test_command_on_a_clean_checkout(expected: str, state: str, yard: Yard, cli: Cli) -> None:
    jobs = f'[ci.jobs]\nunit = "PYTEST_DISABLE_PLUGIN_AUTOLOAD=1 {python()} -m pytest -q -p no:cacheprovider"\n'
    test = f"from calc import one\n\n\ndef test_one():\n    assert one() == {expected}\n"
    yard.commit({"damascus.toml": CONFIG + jobs, "tests/test_one.py": test, "conftest.py": ""}, "settings")
    yard.write({"calc.py": "broken in the folder only"})
    code, found = checks(cli, "--test")
    assert (found["ci unit"][0], code) == (state, int(state == "fail")), found["ci unit"][1]
    assert ("green on a clean checkout" if state == "ok" else "0 passed and 1 failed") in found["ci unit"][1]


# ── db ────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.req("F14")
def test_db_starts_shows_and_stops_the_embedded_server(
    command: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DAMASCUS_HOME", str(tmp_path / "home"))
    assert command("db", "status", "--json").json["running"] is False
    try:
        assert "is made and started" in command("db", "start").out
        assert "is already running" in command("db", "start").out
        assert command("db", "status", "--json").json["running"] is True
        assert "PostgreSQL" in command("db", "status").out
        program = Path(sys.executable).parent / "damascus"
        asked = [program, "db", "psql", "-Atc", "SELECT 6 * 7"]
        assert subprocess.run(asked, capture_output=True, text=True).stdout == "42\n"
    finally:
        assert "is stopped" in command("db", "stop").out
    assert "was not running" in command("db", "stop").out


def test_db_leaves_a_server_alone_that_is_not_ours(
    command: Cli, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DAMASCUS_DATABASE_URL", database_url)
    for verb in ("start", "stop"):
        ran = command("db", verb)
        assert ran.code == 1 and "is not ours to start or stop" in ran.error
    assert command("db", "status", "--json").json["embedded"] is False
    assert "answers at DAMASCUS_DATABASE_URL" in command("db", "status").out


# ── docs/cli ──────────────────────────────────────────────────────────────────────────────────────────


def test_the_pages_of_docs_cli_are_current() -> None:
    folder = Path(__file__).parents[2] / "docs" / "cli"
    there = {path.name: path.read_text() for path in folder.glob("*.md")}
    assert there == pages(), "make them anew: python -m damascus.cli.pages docs/cli"
