"""Which program is used, and that its hooks are seen to block before it is trusted."""

import os
from pathlib import Path

import pytest

from damascus.agents import AgentSetup, make_agent
from damascus.agents.binaries import find_claude, in_wheel, version_of
from damascus.agents.claude.self_test import fingerprint, untrusted
from damascus.domain.errors import DamascusError, UsageError
from damascus.gateway.bridge import GatewayBridge
from tests.claude_code import Bench, claude_program
from tests.model_server import ModelServer

# ── the program ───────────────────────────────────────────────────────────────────────────────────────


def a_program(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


@pytest.mark.req("D5")
def test_the_program_is_found_by_name_on_the_path_and_in_the_wheel(tmp_path: Path) -> None:
    own = a_program(tmp_path / "own/my-claude", "#!/bin/sh\n")
    on_path = a_program(tmp_path / "bin/claude", "#!/bin/sh\n")
    environ = {"PATH": str(tmp_path / "bin")}
    assert find_claude("own/my-claude", environ, tmp_path) == own
    assert find_claude("", environ) == on_path
    if in_wheel("claude_agent_sdk", "_bundled/claude") is not None:
        assert find_claude("", {"PATH": ""}).name == "claude"
    with pytest.raises(UsageError, match="no program that can be run"):
        find_claude("own/other", environ, tmp_path)


@pytest.mark.req("D5")
def test_without_a_program_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.path", [])
    with pytest.raises(DamascusError, match=r"-m pip install .*`claude` on PATH"):
        find_claude("", {"PATH": "/nonexistent"})


@pytest.mark.req("D5")
def test_its_version_is_known() -> None:
    assert "Claude Code" in version_of(claude_program())


FORGETFUL = """#!/usr/bin/env python3
import json, subprocess, sys
# Claude Code, but for the word that makes a failing hook block.
if "--version" in sys.argv: print("0.0.0 (forgetful)"); sys.exit()
child = subprocess.Popen([{program!r}, *sys.argv[1:]], stdin=subprocess.PIPE)
for line in sys.stdin:
    said = json.loads(line)
    for event in said.get("request", {{}}).get("hooks", {{}}).values():
        for entry in event: entry.pop("onFailure")
    child.stdin.write(json.dumps(said).encode() + b"\\n"); child.stdin.flush()
child.stdin.close()
sys.exit(child.wait())
"""


@pytest.mark.req("A10", "W9")
def test_a_program_whose_hooks_fail_open_is_not_used(bench: Bench, tmp_path: Path) -> None:
    forgetful = a_program(tmp_path / "claude", FORGETFUL.format(program=str(claude_program())))
    assert "although the hook that guards it had failed" in untrusted(forgetful, tmp_path / "state")
    setup = AgentSetup(
        "", tmp_path, tmp_path / "homes", tmp_path / "state", binary=str(forgetful), environ=os.environ,
        bridge=lambda: GatewayBridge("http://127.0.0.1:9"),
    )  # fmt: skip
    with pytest.raises(DamascusError, match="although the hook"):
        make_agent("claude", setup)


@pytest.mark.req("A10")
def test_the_self_test_is_made_once_per_program(bench: Bench, state: Path, tmp_path: Path) -> None:
    program = claude_program()
    assert untrusted(program, state) == ""
    [kept] = (state / "claude-hooks").iterdir()
    was = kept.stat().st_mtime_ns
    assert untrusted(program, state) == "" and kept.stat().st_mtime_ns == was
    silent = a_program(tmp_path / "silent", "#!/bin/sh\nexit 3\n")
    assert "could not be tested" in untrusted(silent, state)
    assert len(list((state / "claude-hooks").iterdir())) == 1, "only a success is kept"


OLD = """#!/usr/bin/env python3
import json, sys
asked = json.loads(sys.stdin.readline())
answer = {"subtype": "success", "request_id": asked["request_id"], "response": {"commands": []}}
print(json.dumps({"type": "control_response", "response": answer}), flush=True)
for line in sys.stdin: print(json.dumps({"type": "result", "result": "worked without hooks", "is_error": False}))
"""


@pytest.mark.req("A10", "W9")
def test_a_program_that_does_not_promise_to_block_gets_no_prompt(bench: Bench, tmp_path: Path) -> None:
    bench.program = a_program(tmp_path / "claude", OLD)
    bench.state = tmp_path / "state"
    assert "does not block a tool whose hook fails" in untrusted(bench.program, bench.state)
    trusted = bench.state / "claude-hooks" / fingerprint(bench.program)
    trusted.parent.mkdir(parents=True)
    trusted.touch()
    with ModelServer() as server:
        run = bench.run(server)
    assert (run.ended, run.exit_code, run.report) == ("hook", None, None)
    assert "does not block a tool whose hook fails" in run.tail
