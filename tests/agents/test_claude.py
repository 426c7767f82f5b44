"""The real Claude Code against a scripted model: its work, its provider, its end, its surroundings."""

import itertools
import json
import threading
from collections.abc import Mapping
from pathlib import Path

import pytest

from damascus.agents.model_agent import Patience
from damascus.agents.transcript import raw_log
from damascus.domain.errors import UsageError
from damascus.domain.ports import Usage, WriteDecision
from damascus.system.sandbox import Level
from tests.claude_code import Allowing, Bench, Recorder, claude_program, one_write, variable
from tests.levels import need
from tests.model_server import CACHED_TOKENS, INPUT_TOKENS, OUTPUT_TOKENS, Fault, ModelServer, call, rate_limited, say
from tests.waiting import LONG, eventually

# ── work ──────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.req("D5", "W9")
@pytest.mark.parametrize("level", Level)
def test_it_writes_and_runs_commands_and_its_words_are_claims(bench: Bench, level: Level) -> None:
    bench.level = need(level)
    script = [
        [say("I will."), call("Write", file_path=bench.path("a.txt"), content="hello\n")],
        [call("Bash", command="cat a.txt > b.txt", description="copy")],
        [say("All done.")],
    ]
    pipeline = Allowing()
    with ModelServer(script) as server:
        run = bench.run(server, pipeline, model="some-model")
    assert (run.exit_code, run.ended, run.unavailable, run.confinement) == (0, "", "", level.value)
    assert (bench.workspace / "b.txt").read_text() == "hello\n"
    assert [tool for tool, _ in pipeline.proposed] == [tool for tool, _ in pipeline.applied_] == ["Write", "Bash"]
    assert run.report and (run.report.summary, run.report.status) == ("All done.", "")
    assert run.report.claims["subtype"] == "success"
    assert {each.body["model"] for each in server.asked} == {"some-model"}
    told = bench.transcript
    assert told.index("Do it.") < told.index("I will.") < told.index("→ Write") < told.index("→ Bash cat a.txt")
    assert "2.1." in told.splitlines()[0] and "All done." in run.tail
    kinds = [json.loads(line)["type"] for line in raw_log(Path(run.transcript)).read_text().splitlines()]
    assert kinds[0] == "system" and kinds[-1] == "result" and "stream_event" not in kinds


@pytest.mark.req("D5")
def test_tokens_and_turns_are_counted_and_told_while_it_works(bench: Bench) -> None:
    script = [*one_write(bench), [say("done")]]
    with ModelServer(script) as server:
        run = bench.run(server)
    assert run.usage == Usage(
        input_tokens=2 * INPUT_TOKENS, output_tokens=2 * OUTPUT_TOKENS, cached_tokens=2 * CACHED_TOKENS, turns=2
    )
    told = sum((Usage.model_validate(each["usage"]) for each in bench.overseer.facts("usage")), Usage())
    assert told == run.usage
    assert (bench.overseer.count("turn"), bench.overseer.count("write")) == (2, 1)
    assert bench.overseer.facts("accepted") == [{"tool": "Write"}]
    assert bench.overseer.count("output") > 4


@pytest.mark.req("D5")
def test_fewer_than_fifty_turns_are_refused_with_the_reason(bench: Bench) -> None:
    with ModelServer() as server, pytest.raises(UsageError, match=r"49 turns end most work unfinished.*50 or more"):
        bench.run(server, max_turns=49)


@pytest.mark.req("D5", "W18")
def test_the_last_turn_is_the_end(bench: Bench) -> None:
    (bench.folder / "workspace").mkdir()
    with ModelServer([[call("Read", file_path="/etc/passwd")]] * 60) as server:
        run = bench.run(server)
    assert (run.ended, run.exit_code, run.unavailable) == ("turns", 1, "")
    assert len(server.asked) == 50


@pytest.mark.req("D5")
def test_a_report_is_read_and_needs_nobodys_leave(bench: Bench) -> None:
    def nothing(tool: str, given: Mapping[str, object]) -> WriteDecision:
        return WriteDecision(allowed=tool == "Bash", reason="a critic writes nothing")

    script = [
        [call("Bash", command="echo $DAMASCUS_REPORT > where", description="where")],
        [call("Bash", command='echo \'{"status": "VERIFIED"}\' > "$DAMASCUS_REPORT"', description="report")],
    ]
    with ModelServer(script) as server:
        run = bench.run(server, Allowing(nothing))
    assert run.report and run.report.status == "VERIFIED"
    assert not Path((bench.workspace / "where").read_text().strip()).exists(), "the step's own folder is gone"


# ── trouble with the provider ─────────────────────────────────────────────────────────────────────────


@pytest.mark.req("D5", "W18")
@pytest.mark.parametrize(
    ("fault", "words"),
    [(Fault(status=500), "500"), (Fault(status=529), "529"), (Fault("drop"), "Connection"), (rate_limited(1), "429")],
    ids=["500", "529", "drop", "429"],
)
def test_a_provider_that_is_not_there_is_no_failure_of_the_story(bench: Bench, fault: Fault, words: str) -> None:
    bench.patience = Patience(retries=1)
    with ModelServer(faults=itertools.repeat(fault)) as server:
        run = bench.run(server)
    assert words in run.unavailable and run.exit_code != 0
    assert bench.overseer.count("api_error") == len(server.asked) <= 3


@pytest.mark.req("D5", "W18")
@pytest.mark.parametrize("seconds", [20, 600])
def test_a_rate_limit_with_a_late_reset_is_not_waited_for_here(bench: Bench, seconds: int) -> None:
    """The first would be waited for by the program itself, with a slot taken."""
    with ModelServer(faults=itertools.repeat(rate_limited(seconds))) as server:
        run = bench.run(server)
    assert len(server.asked) == 1 and run.exit_code != 0
    assert "429" in run.unavailable
    assert run.resets_in and seconds - 10 < run.resets_in <= seconds, "what is left at its end: it ended at once"


@pytest.mark.req("D5", "W18")
def test_a_provider_that_hangs_is_unavailable(bench: Bench) -> None:
    bench.patience = Patience(retries=0, api_seconds=1)
    with ModelServer(faults=itertools.repeat(Fault("hang"))) as server:
        run = bench.run(server)
    assert "timed out" in run.unavailable.lower() and run.exit_code == 1


@pytest.mark.req("D5")
def test_a_fault_in_between_is_overcome(bench: Bench) -> None:
    with ModelServer([*one_write(bench), [say("done")]], faults=[Fault("drop")]) as server:
        run = bench.run(server)
    assert (run.exit_code, run.unavailable, (bench.workspace / "a.txt").read_text()) == (0, "", "x\n")
    assert bench.overseer.count("api_ok") == 2


@pytest.mark.req("D5")
def test_a_wrong_request_is_not_waited_for(bench: Bench) -> None:
    with ModelServer(faults=itertools.repeat(Fault(status=400, message="no such model"))) as server:
        run = bench.run(server)
    assert (run.exit_code, run.unavailable) == (1, "")
    assert "no such model" in run.tail


@pytest.mark.req("W18")
def test_the_overseer_may_end_it_for_its_errors(bench: Bench) -> None:
    bench.overseer = Recorder(end_on=("api_error", "api_errors"))
    with ModelServer(faults=itertools.repeat(Fault(status=503))) as server:
        run = bench.run(server)
    assert (run.ended, run.exit_code) == ("api_errors", None) and run.unavailable


# ── ends ──────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.req("W18")
@pytest.mark.parametrize("why", ["tokens", "money", "idle", "no_write"])
def test_the_overseers_word_ends_it_with_its_totals(bench: Bench, why: str) -> None:
    bench.overseer = Recorder(end_on=("accepted", why))
    script = [
        [call("Bash", command="true", description="x")],
        [call("Bash", command="sleep 300 & wait; echo late > late.txt", description="x")],
        *one_write(bench),
    ]
    with ModelServer(script) as server:
        run = bench.run(server)
    assert (run.ended, run.exit_code, run.stopped, run.timed_out) == (why, None, False, False)
    assert run.usage.input_tokens >= INPUT_TOKENS and run.seconds < LONG
    assert list(bench.workspace.iterdir()) == []


@pytest.mark.req("W18")
def test_a_stop_for_the_overseers_reason_is_told_as_that(bench: Bench) -> None:
    """Who watches asks to stop also when the overseer ends it: `stopped` would give the story back uncharged."""
    begun = bench.workspace / "begun"

    def say_so() -> None:
        eventually(begun.is_file)
        bench.overseer.why = "idle"

    threading.Thread(target=say_so, daemon=True).start()
    with ModelServer([[call("Bash", command="touch begun; sleep 300", description="x")]]) as server:
        run = bench.run(server, stopping=lambda: bool(bench.overseer.end()))
    assert (run.ended, run.stopped) == ("idle", False)


@pytest.mark.req("W9")
def test_a_running_command_is_interrupted_and_leaves_nothing(bench: Bench) -> None:
    script = [[call("Bash", command="echo $$ > pid; sleep 300; echo late > late.txt", description="x")]]
    pid = bench.workspace / "pid"
    claude_program()
    told = threading.Thread(target=lambda: (eventually(pid.is_file), bench.stop.set()), daemon=True)
    told.start()
    with ModelServer(script) as server:
        run = bench.run(server)
    assert (run.stopped, run.exit_code, run.timed_out, run.ended) == (True, None, False, "")
    assert run.seconds < LONG and not (bench.workspace / "late.txt").exists()
    assert not Path(f"/proc/{pid.read_text().strip()}").exists()


@pytest.mark.req("D5")
def test_the_hard_limit_holds(bench: Bench) -> None:
    with ModelServer([[call("Bash", command="sleep 300", description="x")]]) as server:
        run = bench.run(server, timeout=1.5)
    assert (run.timed_out, run.exit_code, run.ended) == (True, None, "time")


# ── its surroundings ──────────────────────────────────────────────────────────────────────────────────


@pytest.mark.req("D5", "W9")
def test_its_environment_holds_nothing_of_the_workers(bench: Bench) -> None:
    script = [[call("Bash", command="env > env.txt; cat /proc/$PPID/environ >> env.txt", description="env")]]
    (bench.folder / "workspace").mkdir()
    with variable("DB_PASSWORD", "worker-secret"), variable("ANTHROPIC_API_KEY", "sk-real-key"):
        with ModelServer(script) as server:
            run = bench.run(server, env={"GIVEN": "masked-value", "DAMASCUS_DATABASE_URL": "postgresql://"})
    found = (bench.workspace / "env.txt").read_text()
    assert run.exit_code == 0
    assert "GIVEN=masked-value" in found and "DAMASCUS_ROLE=code-implementer" in found
    assert [word for word in ("worker-secret", "sk-real-key", "DAMASCUS_DATABASE_URL") if word in found] == []
    home = next(line for line in found.splitlines() if line.startswith("HOME="))
    assert home == f"HOME={bench.folder / 'homes/DM-1'}"
    told = bench.transcript + raw_log(Path(run.transcript)).read_text()
    assert "masked-value" not in told


@pytest.mark.req("W9")
def test_settings_and_hooks_of_the_repository_are_not_read(bench: Bench) -> None:
    planted = {"hooks": {event: [{"matcher": "", "hooks": [{"type": "command", "command": "touch pwned"}]}]
                         for event in ("SessionStart", "PreToolUse", "UserPromptSubmit")}}  # fmt: skip
    folder = bench.folder / "workspace/.claude"
    folder.mkdir(parents=True)
    for name in ("settings.json", "settings.local.json"):
        (folder / name).write_text(json.dumps(planted))
    (bench.workspace / ".mcp.json").write_text(json.dumps({"mcpServers": {"x": {"command": "touch", "args": ["mcp"]}}}))
    with ModelServer(one_write(bench)) as server:
        run = bench.run(server)
    assert run.exit_code == 0
    assert sorted(path.name for path in bench.workspace.iterdir()) == [".claude", ".mcp.json", "a.txt"]


@pytest.mark.req("W9")
def test_what_an_agent_left_in_its_home_is_not_read_again(bench: Bench) -> None:
    hook = json.dumps({"hooks": {"PreToolUse": [{"hooks": [{"type": "command", "command": "touch pwned"}]}]}})
    plant = f"for d in ~/.claude $CLAUDE_CONFIG_DIR; do mkdir -p $d; echo '{hook}' > $d/settings.json; done"
    with ModelServer([[call("Bash", command=plant, description="plant")]]) as server:
        bench.run(server)
    with ModelServer(one_write(bench)) as server:
        bench.run(server)
    assert [path.name for path in bench.workspace.iterdir()] == ["a.txt"]
