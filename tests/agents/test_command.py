"""The command agent: the public contract, looked at from inside a real command."""

import fcntl
import json
import os
import shlex
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from damascus.agents import AGENTS, AgentSetup, make_agent
from damascus.agents.command import CommandAgent, words
from damascus.agents.handover import read_report
from damascus.domain.errors import UsageError
from damascus.domain.ports import AgentRun, Report, Watch
from damascus.system import procfs
from damascus.system.process import Identity
from damascus.system.sandbox import Level, seats_at
from tests.contracts.agent_contract import a_brief
from tests.levels import need
from tests.waiting import eventually

Run = Callable[..., AgentRun]


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    (tmp_path / "workspace").mkdir()
    return tmp_path / "workspace"


@pytest.fixture
def watch(tmp_path: Path) -> Watch:
    return Watch(
        prompt="Do it.",
        brief_file=tmp_path / "runs/brief.json",
        report_file=tmp_path / "runs/report.json",
        transcript=tmp_path / "runs/transcript.log",
        timeout=20.0,
        stopping=lambda: False,
        started=lambda _: None,
    )


@pytest.fixture(params=list(Level))
def level(request: pytest.FixtureRequest) -> Level:
    return need(request.param)


@pytest.fixture
def run(tmp_path: Path, workspace: Path, watch: Watch, level: Level) -> Run:
    def run(command: str, **changes: object) -> AgentRun:
        agent = CommandAgent(command, start_folder=tmp_path, homes=tmp_path / "homes", level=level)
        return agent.run(a_brief(), workspace, replace(watch, **changes))  # type: ignore[arg-type]

    return run


def test_cwd_role_and_stdin(run: Run, workspace: Path, level: Level) -> None:
    done = run("sh -c 'pwd; echo $DAMASCUS_ROLE; cat'", prompt="# The prompt\n")
    assert done.tail.splitlines() == [seats_at(level, workspace).inside(workspace), "code-implementer", "# The prompt"]


def test_brief_and_report_are_where_the_variables_say(run: Run) -> None:
    done = run("""sh -c 'cat "$DAMASCUS_BRIEF"; echo "{\\"status\\": \\"done\\"}" > "$DAMASCUS_REPORT"'""")
    assert json.loads(done.tail)["story_id"] == "DM-1"
    assert done.report and done.report.status == "done"


def test_stdout_is_the_transcript_and_stderr_is_kept_beside_it(run: Run, watch: Watch) -> None:
    done = run("sh -c 'echo words; echo trouble >&2; exit 9'")
    assert watch.transcript.read_text() == "words\n"
    assert watch.transcript.with_name("transcript.log.stderr").read_text() == "trouble\n"
    assert done.exit_code == 9
    assert "trouble" in done.tail
    assert done.complaint == "trouble"


def test_the_environment_is_an_allow_list(
    run: Run, watch: Watch, workspace: Path, tmp_path: Path, level: Level, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = {"LANG": "C.UTF-8", "LC_ALL": "C.UTF-8", "LC_TIME": "C", "TZ": "UTC"}
    secrets = ["DAMASCUS_DATABASE_URL", "DAMASCUS_HOME", "ANTHROPIC_API_KEY", "SSH_AUTH_SOCK", "PYTHONPATH", "LANGUAGE"]
    for name, value in kept.items():
        monkeypatch.setenv(name, value)
    for name in [*secrets, "HOME"]:
        monkeypatch.setenv(name, "the-users")
    done = run("env", env={"TEST_KEY": "1", "HOME": "the-users", "DAMASCUS_PORT": "7", "DAMASCUS_HOME": "the-users"})
    seen = dict(line.split("=", 1) for line in done.tail.splitlines())
    assert seen.pop("DAMASCUS_STEP_TOKEN")
    there = seats_at(level, workspace).inside(workspace)
    assert seen.pop("PWD", there) == there, "bubblewrap says where it is"
    step = Path(seen.pop("TMPDIR")).parent
    assert (step.parent, step.exists()) == (tmp_path / "homes", False), "a folder of the step's own, gone with it"
    assert seen == kept | {
        "PATH": os.environ["PATH"],
        "TERM": "dumb",
        "HOME": str(tmp_path / "homes/DM-1"),
        "TEST_KEY": "1",
        "DAMASCUS_PORT": "7",
        "DAMASCUS_ROLE": "code-implementer",
        "DAMASCUS_BRIEF": str(watch.brief_file),
        "DAMASCUS_REPORT": str(step / "report.json"),
    }
    assert (tmp_path / "homes/DM-1").stat().st_mode & 0o777 == 0o700


def test_a_path_entry_never_means_the_workspace(
    run: Run, workspace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", f"tools::.{os.pathsep}{os.environ['PATH']}")
    for folder, word in ((workspace, "planted"), (workspace / "tools", "planted"), (tmp_path / "tools", "ours")):
        folder.mkdir(exist_ok=True)
        (folder / "my-agent").write_text(f"#!/bin/sh\necho {word}\n")
        (folder / "my-agent").chmod(0o755)
    assert run("my-agent").tail == "ours\n"


def test_a_relative_command_is_found_from_the_start_folder(run: Run, workspace: Path, tmp_path: Path) -> None:
    for folder, word in ((workspace, "planted"), (tmp_path, "ours")):
        (folder / "agent.sh").write_text(f"#!/bin/sh\necho {word} $1\n")
        (folder / "agent.sh").chmod(0o755)
    assert run("./agent.sh 'two words'").tail == "ours two words\n"
    assert run("sh -u agent.sh x").tail == "ours x\n"


@pytest.mark.req("D6")
@pytest.mark.parametrize("command", ["../agent", "sh ../agent", "here/../../agent"])
def test_a_command_above_the_start_folder_is_found_in_the_sandbox_too(
    command: str, workspace: Path, watch: Watch, tmp_path: Path, level: Level
) -> None:
    (tmp_path / "agent").write_text("#!/bin/sh\necho hello > hello\n")
    (tmp_path / "agent").chmod(0o755)
    start = tmp_path / "repository"
    (start / "here").mkdir(parents=True)
    agent = CommandAgent(command, start_folder=start, homes=tmp_path / "homes", level=level)
    assert agent.run(a_brief(), workspace, watch).exit_code == 0
    assert (workspace / "hello").read_text() == "hello\n"


def test_words(tmp_path: Path) -> None:
    (tmp_path / "app.py").touch()
    assert words("tools/a 'b c' $HOME", tmp_path) == [f"{tmp_path}/tools/a", "b c", "$HOME"]
    assert words("/bin/a app.py", tmp_path) == ["/bin/a", "app.py"], "an argument is the workspace's file"
    assert words("python3 -c app.py", tmp_path) == ["python3", "-c", "app.py"]
    assert words("/usr/bin/python3.11 -u app.py app.py", tmp_path)[1:] == ["-u", f"{tmp_path}/app.py", "app.py"]
    assert words("python3 other.py", tmp_path) == ["python3", "other.py"]


@pytest.mark.parametrize("command", ["", "  ", "agent 'open"])
def test_a_command_that_is_none_is_a_usage_error(command: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError):
        CommandAgent(command, start_folder=tmp_path, homes=tmp_path)


def test_a_missing_command_is_127(run: Run) -> None:
    done = run("./no-such-agent")
    assert done.exit_code == 127
    assert "no-such-agent" in done.tail


def test_no_shell_reads_the_command(run: Run, workspace: Path) -> None:
    assert run("echo a; touch planted").tail == "a; touch planted\n"
    assert list(workspace.iterdir()) == []


@pytest.mark.req("D20")
def test_who_runs_is_told_when_it_starts(run: Run, workspace: Path) -> None:
    seen: list[Identity] = []

    def started(facts: Mapping[str, object]) -> None:
        identity = Identity.of(json.loads(json.dumps(facts)))
        assert identity
        mark = f"DAMASCUS_STEP_TOKEN={identity.token}"
        eventually(lambda: procfs.started_with(identity.pid, mark), what="its mark, which it has from its exec on")
        seen.append(identity)
        (workspace / "go").touch()

    done = run("sh -c 'until test -e go; do sleep 0.01; done; echo $DAMASCUS_STEP_TOKEN'", started=started)
    [identity] = seen
    assert identity.token == done.tail.strip()


@pytest.mark.req("W22")
def test_a_daemon_ends_with_the_step(run: Run, workspace: Path) -> None:
    command = "setsid flock held sh -c 'touch ready; exec sleep 300' & until test -e ready; do sleep 0.01; done"
    run(shlex.join(["sh", "-c", command]))
    assert (workspace / "ready").exists()
    with open(workspace / "held") as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)  # whoever held it is gone


@pytest.mark.parametrize(("trap", "why"), [
    ("mkfifo", "is no plain file"), ("mkdir", "is no plain file"), ("ln -s /etc/passwd", "is a link"),
    ("sh -c 'echo {} > real; ln -s $PWD/real $0'", "is a link"),
])  # fmt: skip
def test_a_report_that_is_no_file_is_no_report(run: Run, trap: str, why: str) -> None:
    done = run(shlex.join(["sh", "-c", f"{trap} $DAMASCUS_REPORT"]))
    assert (done.exit_code, done.report) == (0, Report(unreadable=why))


TWICE = '{"status": "UNVERIFIED", "status": "VERIFIED", "summary": "x", "concerns": [{"what": "bad"}]}'


@pytest.mark.req("F4")
@pytest.mark.parametrize(("text", "why"), [
    (TWICE, "has the key 'status' twice"),
    ('{"status": "VERIFIED", "requirements": [{"id": "R", "id": "S"}]}', "has the key 'id' twice"),
    ('{"status": "VERIFIED", "status\\u0000": "UNVERIFIED"}', "has the key 'status' twice"),
    ("[" * 100_000, "is nested too deeply"),
    ('{"a": ' * 20_000 + "1" + "}" * 20_000, "is nested too deeply"),
    (f'{{"summary": "{"x" * 1_000_001}"}}', "is larger than 1,000,000 bytes"),
    ("[]", "is no JSON object"),
    ("{", "is not valid JSON: Expecting property name"),
    ('{"concerns": "bad"}', "can't be used: concerns: Input should be a valid list"),
    ('{"concerns": [{"what": 5}]}', "can't be used: concerns.what: Input should be a valid string"),
    ('{"summary": 5, "unreadable": ""}', "can't be used: summary: Input should be a valid string"),
], ids=range(11))  # fmt: skip
def test_a_report_that_can_not_be_read_says_why_and_nothing_else(tmp_path: Path, text: str, why: str) -> None:
    (tmp_path / "left").write_text(text)
    report = read_report(tmp_path / "left", tmp_path / "kept")
    assert report is not None and report.unreadable.startswith(why)
    assert report == Report(unreadable=report.unreadable)


def test_no_agent_calls_its_own_report_unreadable(tmp_path: Path) -> None:
    (tmp_path / "left").write_text('{"summary": "x", "unreadable": "is gone"}')
    report = read_report(tmp_path / "left")
    assert report is not None and (report.summary, report.unreadable) == ("x", "")


def test_what_a_try_planted_does_not_reach_the_next(run: Run, tmp_path: Path, watch: Watch, level: Level) -> None:
    """Links and folders where brief, report and transcript will be written, where it can plant them."""
    victim = tmp_path / "victim"
    victim.write_text("untouched")
    for plant in (f"ln -sf {victim}", "rm -rf $0; mkdir -p", "rm -rf $0; mkfifo"):
        files = f"$DAMASCUS_BRIEF $DAMASCUS_REPORT {watch.transcript} {watch.transcript}.stderr"
        command = f"for f in {files}; do rm -rf $f; sh -c '{plant} $0' $f; done"
        planted = run(shlex.join(["sh", "-c", command]))
        assert planted.exit_code == 0 or level is not Level.UNCONFINED
        done = run(shlex.join(["sh", "-c", "cat $DAMASCUS_BRIEF; echo '{}' > $DAMASCUS_REPORT"]))
        assert (done.exit_code, json.loads(done.tail)["story_id"]) == (0, "DM-1")
        assert done.report and watch.transcript.is_file()
    assert victim.read_text() == "untouched"


def test_what_a_row_can_not_hold_is_taken_out_of_a_report(run: Run) -> None:
    claims = '{"a": NaN, "b": 1' + "0" * 3000 + ', "c": ["x\\u0000y", -Infinity], "k\\u0000": {"d": true}}'
    program = f"import os; open(os.environ['DAMASCUS_REPORT'], 'w').write(r'''{{\"claims\": {claims}}}''')"
    done = run(shlex.join([sys.executable, "-c", program]))
    assert done.report
    assert done.report.claims == {"a": None, "b": None, "c": ["xy", None], "k": {"d": True}}


def test_the_registry(tmp_path: Path) -> None:
    setup = AgentSetup("echo hi", start_folder=tmp_path, homes=tmp_path, state=tmp_path)
    assert sorted(AGENTS) == ["claude", "codex", "command", "opencode", "scripted"]
    assert make_agent("command", setup).name == "command"
    with pytest.raises(UsageError, match="claude, codex, command, opencode, scripted"):
        make_agent("robot", setup)
    with pytest.raises(UsageError, match="needs a script"):
        make_agent("scripted", replace(setup, command=""))
