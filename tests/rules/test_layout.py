"""Arrows point down, nothing is a dumping ground, and a test waits for facts."""

import ast
import re
import subprocess
import sys

import pytest

from tests.rules.tree import ROOT, SOURCE, sources, sources_of_tests

DUMPING_GROUNDS = {"utils", "util", "helpers", "helper", "common", "misc", "shared", "stuff"}
UNFINISHED = re.compile(r"\b(TODO|FIXME|XXX|HACK)\b|NotImplementedError|pragma: no cover")
MACHINE = re.compile(r"(?<![\w./])/(work|root)/\w+|--index-url")


def test_the_arrows_of_the_layers_point_down() -> None:
    """import-linter, with the contracts of pyproject.toml."""
    program = "from importlinter.cli import lint_imports_command; lint_imports_command()"
    done = subprocess.run(
        [sys.executable, "-c", program, "--no-cache"], cwd=ROOT, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_adapters_know_neither_store_nor_engine_and_the_domain_nobody() -> None:
    found = []
    for name, text in sources().items():
        family = name.split("/", maxsplit=1)[0]
        imported = set(re.findall(r"^\s*(?:from|import) damascus\.(\w+)", text, re.MULTILINE))
        if family in ("agents", "gates", "forges"):
            found += [f"{name} imports {other}" for other in imported & {"store", "engine", "cli", "app"}]
        if family == "domain":
            found += [f"{name} imports {other}" for other in imported - {"domain"}]
            outside = set(re.findall(r"^(?:from|import) (\w+)", text, re.MULTILINE)) - {"damascus"}
            found += [f"{name} imports {other}" for other in outside - set(sys.stdlib_module_names) - {"pydantic"}]
    assert found == []


def test_no_file_is_a_dumping_ground() -> None:
    paths = [path for folder in (SOURCE, ROOT / "tests", ROOT / "bench") for path in folder.rglob("*.py")]
    assert [str(path) for path in paths if path.stem in DUMPING_GROUNDS or path.parent.name in DUMPING_GROUNDS] == []


def test_nothing_is_left_for_later_in_the_code() -> None:
    assert [f"{name}: {m.group()}" for name, text in sources().items() for m in UNFINISHED.finditer(text)] == []


def test_no_path_of_a_machine_is_in_the_tree() -> None:
    texts = {
        **sources(),
        **sources("*.sql"),
        **{f"tests/{k}": v for k, v in sources_of_tests().items() if k != "rules/test_layout.py"},
    }
    assert [f"{name}: {m.group()}" for name, text in texts.items() for m in MACHINE.finditer(text)] == []


def test_tests_wait_for_facts_and_never_for_a_while() -> None:
    sleeping = {name for name, text in sources_of_tests().items() if "sleep" in called(text)}
    assert sleeping - {"waiting.py", "crash/worker_process.py"} == set(), "a process under test polls for its orders"


def called(text: str) -> set[str]:
    """The functions that a source calls itself, not in the programs that it writes for others."""
    calls = [node.func for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call)]
    return {getattr(func, "attr", getattr(func, "id", "")) for func in calls}


@pytest.mark.parametrize("limit", [600])
def test_no_file_grows_into_a_god(limit: int) -> None:
    assert {name: n for name, text in sources().items() if (n := len(text.splitlines())) > limit} == {}
