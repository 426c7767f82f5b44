"""A project in each stack, built through Damascus: one story from spec to main, with all gates that are on by default.

The projects lie in tests/scenarios/stacks: what is on main, the spec, and in `work/` what the agent brings. The one in
shell is of a language that Damascus knows nothing of, and comes by configuration.
"""

import os
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from damascus.gates.requirements import names_requirement
from damascus.store.receipts import evidence
from tests.node_runners import installed
from tests.toolchains import need_llvm, need_program
from tests.yard import Yard

STACKS = Path(__file__).with_name("stacks")
STORY = "SHOP-1"
QUIET = {
    "DAMASCUS_LIMITS_DISK_RESERVE_MB": "0",
    "DAMASCUS_LIMITS_LOAD_PER_CORE": "0",
    "DAMASCUS_AGENT_PING": "false",
}
AGENT = """
for name, text in WORK.items():
    path = pathlib.Path(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
"""
PASSED_ON = ("INSTALLED", "PYTEST_DISABLE_PLUGIN_AUTOLOAD")
OURS = ("coverage", "mutation", "canary", "REQ", "test")
Prepare = Callable[[pytest.MonkeyPatch], None]


def on_path(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")


def with_pytest(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a shell whose virtual environment is active; without plug-ins, of which ours has some that start slowly."""
    on_path(monkeypatch, Path(sys.executable).parent)
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")


def with_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if npm had fetched them; a folder of programs is seen in the sandbox with what they need."""
    packages = installed(("jest", "vitest", "@vitest/coverage-v8"))
    on_path(monkeypatch, packages / ".bin")
    monkeypatch.setenv("INSTALLED", str(packages))


@dataclass(frozen=True)
class Stack:
    """`lines` are, by requirement, those that its tests were seen to need: the functions that they call."""

    prepare: Prepare
    lines: tuple[str, str]


ALL = {
    "python": Stack(with_pytest, ("shop/discount.py:1-4", "shop/discount.py:1-4, 7-8")),
    "typescript-vitest": Stack(with_packages, ("src/discount.ts:1-6", "src/discount.ts:1-6, 8-10")),
    "node-jest": Stack(with_packages, ("src/discount.js:1-6", "src/discount.js:1-6, 8-10")),
    "node-test": Stack(lambda _: need_program("node"), ("src/discount.js:1-6", "src/discount.js:1-6, 8-10")),
    "go": Stack(lambda _: need_program("go"), ("discount/discount.go:5-10", "discount/discount.go:5-10, 13-15")),
    "rust": Stack(need_llvm, ("src/discount.rs:1-6", "src/discount.rs:1-6, 8-10")),
}


def files_in(folder: Path) -> dict[str, str]:
    found = (path for path in sorted(folder.rglob("*")) if path.is_file() and "__pycache__" not in path.parts)
    return {str(path.relative_to(folder)): path.read_text() for path in found}


def built(name: str, folder: Path, database_url: str) -> dict[str, Any]:
    """The receipt of the project's one story."""
    every = files_in(STACKS / name)
    spec, config = every.pop("specs/discount.md"), every.pop("damascus.toml")
    work = {path.removeprefix("work/"): text for path, text in every.items() if path.startswith("work/")}
    main = {path: text for path, text in every.items() if not path.startswith("work/")}
    passed_on = {key: os.environ[key] for key in PASSED_ON if key in os.environ}
    yard = Yard(folder, database_url, files=main, config=config, environ=QUIET | passed_on)
    yard.add(spec, budget=1)
    yard.work(yard.agent(f"WORK = {work!r}\n{AGENT}"))
    item = yard.item(STORY)
    assert item["phase"] == "done", (item["last_feedback"], yard.questions())
    assert all(yard.on_main(path) == text.strip() for path, text in work.items())
    return evidence(yard.db, yard.row, STORY)


def summary(told: dict[str, Any], gate: str) -> str:
    """What its last answer rests on."""
    last = [one for one in told["gates"] if one["gate"] == gate][-1]
    return str(last["evidence"][0]["summary"])


def noticed(told: dict[str, Any], ident: str) -> list[str]:
    return [one["lines"] for one in told["covers"][ident] if one["by"] == "noticed"]


@pytest.mark.req("A17", "A16", "F5.1")
@pytest.mark.parametrize("name", ALL)
def test_a_story_is_built_in_each_stack(
    name: str, tmp_path: Path, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    ALL[name].prepare(monkeypatch)
    told = built(name, tmp_path, database_url)

    assert [one for one in told["unverified"] if one.startswith(OURS)] == []
    for ident in ("REQ-001", "REQ-002"):
        assert any(names_requirement(test, ident) for test in told["green_tests"]), told["green_tests"]
    assert re.fullmatch(r"exit 0, [23] passed, 0 failed, 0 skipped", summary(told, "tests"))
    assert re.fullmatch(r"exit [1-9]\d*, .* [1-9]\d* failed, .*", summary(told, "canary"))
    assert summary(told, "mutation") == "2 changed functions, mutants: 4 killed"
    assert re.fullmatch(r"(\d+) of \1 changed lines run \(100 %\)", summary(told, "coverage"))
    assert (noticed(told, "REQ-001"), noticed(told, "REQ-002")) == tuple([lines] for lines in ALL[name].lines)


@pytest.mark.req("A17")
def test_another_stack_comes_by_configuration_and_what_it_can_not_prove_is_listed(
    tmp_path: Path, database_url: str
) -> None:
    told = built("shell", tmp_path, database_url)

    assert told["unverified"] == [
        "REQ-001: named in checks/discount.sh, red to green by exit code only",
        "REQ-002: named in checks/discount.sh, red to green by exit code only",
        "canary: no file of `sh checks/discount.sh` into which a failing test of ours could be laid",
        "coverage: bin/discount.sh (lines of this language can't be measured)",
        "mutation: bin/discount.sh: no mutants are known for its language",
        "test count: `make test` prints none; red and green by exit code only",
        "test count: `sh checks/discount.sh` prints none; red and green by exit code only",
    ]
    commands = next(one for one in told["gates"] if one["gate"] == "commands")
    assert [(one["gate"], one["exit_code"]) for one in commands["evidence"]] == [("compile", 0), ("lint", 0)]
