"""A new stack is its record and its tests (docs/howto/stack.md): one is made here and sent through the gates.

Toy is a language of `name = number` lines. Its runner is a small Python script that prints nothing that anybody reads;
the program of the record, which stands before it in PATH, reports each test.
"""

import os
import re
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from damascus import stacks
from damascus.domain import config
from damascus.domain.ports import Candidate, GateResult
from damascus.domain.verdict import Kind
from damascus.evidence.environment import RunFolder, environment
from damascus.gates import gates
from damascus.git.setup import read_by
from damascus.people.receipt_again import NoOwners
from damascus.scanning.scanner import Scanner
from damascus.stacks.compiling import check_of
from damascus.stacks.stack import Footprint, Reporting, Runner, Stack, Toolchain, paths, word
from damascus.stacks.suite import suite_of
from damascus.system.checkouts import checkout_environment
from damascus.system.ports import PortBlocks
from damascus.system.seats import Seats
from damascus.system.toolchains import compilers, variables
from tests.browser import RememberedPictures
from tests.gates.judging import Judging, verdicts

RUNNER = f"""\
#!{sys.executable}
import pathlib, sys
lines = [line for path in pathlib.Path(".").glob("*.toy") for line in path.read_text().splitlines()]
values = dict(line.split(" = ") for line in lines)
failed = False
for path in sorted(pathlib.Path("checks").glob("*_check.toy")):
    for line in path.read_text().splitlines():
        name, _, wanted = line.partition(": ")
        ok = values.get(name) == wanted
        failed = failed or not ok
        sys.stderr.write(f"{{path}} {{name}} {{'passed' if ok else 'failed'}}\\n")
sys.exit(failed)
"""
REPORT = '''\
"""`toy`: what the real one says of each check becomes a line of the report."""

import subprocess
import sys

from damascus.stacks.runners.record import ReportFile, environment_of_tests, exit_as, next_program


def main(ours, words):
    real = next_program("toy", ours)
    record = ReportFile("toy", words, ".")
    done = subprocess.run([real, *words], stderr=subprocess.PIPE, text=True, env=environment_of_tests())
    for line in done.stderr.splitlines():
        path, name, status = line.split()
        record.write({"test": name, "file": path, "status": status})
    record.end(exit_as(done.returncode))
    return exit_as(done.returncode)
'''
TOY = Stack(
    name="toy",
    roots=("toy.project",),
    extensions=(".toy",),
    tests=paths(r"[^/]*_check\.toy"),
    judges=paths(r"toy\.settings"),
    command=lambda listing: "toy check",
    footprint=Footprint(lock_files=("toy.lock",), lock_patterns=("toy.lock.*",), packages=("toy_parts",)),
    toolchain=Toolchain(
        programs=("toy",),
        find_themselves=("TOY_ROOT",),
        homes={"TOY_HOME": ".toy"},
        caches={"TOY_CACHE": "toy"},
        judged={"TOY_FLAGS": "--strict"},
    ),
    runners=(Runner("toy"),),
    named=re.compile(word("toy[ \t]+check")),
    how="start it as `toy check`",
)
BASE = {"toy.project": "", "toy.lock": "1\n", "old.toy": "old = 1\n", "checks/old_check.toy": "old: 1\n"}
STORY = {"new.toy": "new = 2\n", "checks/new_check.toy": "new: 2\n"}


@pytest.fixture
def toy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Stack:
    """Registered, and its runner in PATH."""
    program, report = tmp_path / "bin" / "toy", tmp_path / "toy_report.py"
    program.parent.mkdir()
    program.write_text(RUNNER)
    program.chmod(0o755)
    report.write_text(REPORT)
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")
    stack = replace(TOY, reporting=Reporting(files=(report,), programs={"toy": "toy_report"}))
    monkeypatch.setitem(stacks.REGISTRY, "toy", stack)
    return stack


@pytest.fixture
def judging(toy: Stack, tmp_path: Path) -> Judging:
    return Judging.of(tmp_path, BASE)


@pytest.fixture
def story(judging: Judging) -> Candidate:
    candidate = judging.candidate(STORY, command="toy check", scope=("new.toy", "checks/"), kind=Kind.FEATURE)
    return replace(candidate, red=judging.red(candidate))


@pytest.fixture
def told(judging: Judging, story: Candidate) -> Iterator[dict[str, GateResult]]:
    scanner = Scanner()
    every = gates(judging.runner, judging.mirror, scanner, RememberedPictures(), NoOwners())
    yield {gate.name: gate.check(story) for gate in (*every.before, *every.after, *every.beside)}
    scanner.close()


@pytest.mark.req("D7")
def test_it_is_found_with_its_command_and_its_tests(toy: Stack) -> None:
    assert stacks.detect(BASE) == [toy] and stacks.default_command(BASE) == "toy check"
    assert suite_of(config.TestConfig(), BASE, lambda path: BASE[path].encode()).command == "toy check"
    assert stacks.is_test("checks/old_check.toy") and not stacks.is_test("old.toy")
    assert stacks.is_judge("toy.settings") and stacks.stack_of_runner("toy") is toy
    assert check_of("old.toy", lambda path: True, "cache") is None


@pytest.mark.req("X10")
def test_rooms_below_ask_the_record(toy: Stack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert read_by("make it", [*BASE, "sub/toy.lock.linux"]) == ["sub/toy.lock.linux", "toy.lock"]
    monkeypatch.setenv("TOY_ROOT", "/opt/toy")
    assert {"TOY_ROOT", "TOY_HOME"} <= set(variables()) and compilers()["TOY_ROOT"] == "/opt/toy"
    env = environment(RunFolder(tmp_path / "run"), {}, Seats())
    assert (env["TOY_ROOT"], env["TOY_FLAGS"]) == ("/opt/toy", "--strict")
    with checkout_environment(tmp_path / "private", PortBlocks(tmp_path / "ports")) as own:
        assert own["TOY_CACHE"] == str(tmp_path / "private" / "cache" / "toy")


@pytest.mark.req("D7")
def test_its_runner_reports_single_tests(judging: Judging, story: Candidate) -> None:
    run = judging.run("toy check", story.tree)
    assert run.green and [call.runner for call in run.calls] == ["toy"]
    assert [case.id for case in run.cases] == ["checks/new_check.toy::new", "checks/old_check.toy::old"]
    assert story.red is not None and story.red.red_tests == ["checks/new_check.toy::new"]


@pytest.mark.req("D7", "X1")
def test_gates_let_an_honest_story_through_and_list_what_is_not_proved(told: dict[str, GateResult]) -> None:
    assert {name: verdicts(result) for name, result in told.items() if result.findings} == {}
    assert told["tests"].green_tests == ["checks/new_check.toy::new", "checks/old_check.toy::old"]
    nowhere = "canary: no file of `toy check` into which a failing test of ours could be laid"
    assert told["canary"].unverified == [nowhere]
    assert "mutation: new.toy (no mutants are known for toy) can't be read" in told["mutation"].unverified


@pytest.mark.req("D7", "X1")
def test_gates_stop_what_is_not_red_what_is_red_and_who_is_silent(judging: Judging, toy: Stack) -> None:
    def made(files: dict[str, str], command: str = "toy check") -> Candidate:
        return judging.candidate(files, command=command, scope=("new.toy", "checks/"))

    assert verdicts(judging.red(made({"checks/more_check.toy": "old: 1\n"}))) == ["not_red"]
    assert verdicts(judging.tests(made(STORY | {"new.toy": "new = 3\n"}))) == ["tests_failed"]
    silent = judging.tests(made(STORY, f"{judging.logs.parent}/bin/toy check"))
    assert verdicts(silent) == ["tests_failed"] and toy.how in silent.findings[0].message


@pytest.mark.req("D7")
def test_its_tests_prove_no_requirement_while_nobody_reads_them(judging: Judging, story: Candidate) -> None:
    assert stacks.tests_in(b"new: 2\n", "checks/new_check.toy").tests == {}
    assert verdicts(judging.requirements(story, "REQ-001")) == ["requirement_untested"]
