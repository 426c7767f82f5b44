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


LIBRARIES_OF_THE_DOMAIN = {
    "domain/front_matter.py": {"pydantic", "yaml"},
    "domain/config_variables.py": {"pydantic", "pydantic_settings"},
}
"""Beside pydantic, by file: pure readers of a format that is the domain's own."""


def test_adapters_know_neither_store_nor_engine_and_the_domain_nobody() -> None:
    """Wherever in a file the import stands."""
    found = []
    for name, text in sources().items():
        family = name.split("/", maxsplit=1)[0]
        modules = modules_of(text)
        imported = {module.split(".")[1] for module in modules if module.startswith("damascus.")}
        if family in ("agents", "gates", "forges"):
            found += [f"{name} imports {other}" for other in imported & {"store", "engine", "cli", "app"}]
        if family == "domain":
            found += [f"{name} imports {other}" for other in imported - {"domain"}]
            outside = {module.split(".")[0] for module in modules} - {"damascus"} - set(sys.stdlib_module_names)
            known = LIBRARIES_OF_THE_DOMAIN.get(name, {"pydantic"})
            found += [f"{name} imports {other}" for other in outside - known]
    assert found == []


TERMINAL = {"print", "input", "isatty", "getpass", "getuser", "get_terminal_size", "cwd", "getcwd"}
BELOW_TELLING = {"telling", "store", "domain"}


def test_what_a_person_can_do_is_there_for_every_caller() -> None:
    """People and telling: no command line, no terminal, no guess at who acts."""
    found = []
    for name, text in sources().items():
        family = name.split("/", maxsplit=1)[0]
        if family not in ("people", "telling"):
            continue
        imported = modules_of(text)
        found += [f"{name} imports {m}" for m in imported if m.split(".")[0] in ("typer", "click", "rich", "getpass")]
        found += [f"{name} imports {m}" for m in imported if f"{m}.".startswith("damascus.cli.")]
        found += [f"{name} calls {call}" for call in called(text) & TERMINAL]
        found += [f"{name} reads sys.{part}" for part in parts_of_sys(text)]
        if family == "telling":
            ours = {module.split(".")[1] for module in imported if module.startswith("damascus.")}
            found += [f"{name} imports {other}" for other in ours - BELOW_TELLING]
    assert found == []


def modules_of(text: str) -> set[str]:
    """Every module that a source imports, wherever it does so: `from damascus import cli` is damascus.cli."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            found |= {name.name for name in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{name.name}" for name in node.names)}
    return found


def parts_of_sys(text: str) -> set[str]:
    """What a source takes of sys that belongs to a terminal or a command line."""
    taken = {module.removeprefix("sys.") for module in modules_of(text) if module.startswith("sys.")}
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "sys":
            taken.add(node.attr)
    return taken & {"argv", "stdin", "stdout", "stderr", "exit"}


@pytest.mark.parametrize(
    ("text", "module"),
    [
        ("import typer", "typer"),
        ("from damascus import cli", "damascus.cli"),
        ("from damascus.cli.say import say", "damascus.cli.say"),
        ("def f():\n    from typer import confirm", "typer"),
    ],
)
def test_the_rule_sees_every_way_to_import(text: str, module: str) -> None:
    assert module in modules_of(text)


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
