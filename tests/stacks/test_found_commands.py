"""Which commands judge every candidate: what a person wrote, else what the files configure, and nothing else."""

import json

import pytest

from damascus.domain.config import parse_config
from damascus.stacks.gate_commands import GateCommands, commands_of

pytestmark = pytest.mark.req("A6", "A17")

TYPESCRIPT = json.dumps({"devDependencies": {"typescript": "5"}})


def asked(files: dict[str, str], settings: str = "") -> GateCommands:
    return commands_of(
        parse_config(settings), list(files), lambda path: files[path].encode() if path in files else None
    )


def found(files: dict[str, str], settings: str = "") -> dict[str, str]:
    commands = asked(files, settings).commands
    assert all(each.found for each in commands)
    return {each.name: each.command for each in commands}


def scripts(**named: str) -> dict[str, str]:
    return {"package.json": json.dumps({"scripts": {name.replace("_", "-"): text for name, text in named.items()}})}


@pytest.mark.parametrize(
    ("files", "commands"),
    [
        ({"ruff.toml": "", "a.py": ""}, {"lint": "ruff check ."}),
        ({"pyproject.toml": "[tool.ruff]\n"}, {"lint": "ruff check ."}),
        ({"pyproject.toml": "[tool.ruff.lint]\nselect = ['E']\n"}, {"lint": "ruff check ."}),
        ({".flake8": "", "setup.py": ""}, {"lint": "flake8"}),
        ({"tox.ini": "[flake8]\nmax-line-length = 100\n"}, {"lint": "flake8"}),
        ({"ruff.toml": "", "setup.cfg": "[flake8]\n"}, {"lint": "ruff check .", "lint-flake8": "flake8"}),
        ({"pyproject.toml": "[tool.mypy]\nstrict = true\n"}, {"types": "mypy ."}),
        ({"pyproject.toml": "[tool.mypy]\nfiles = ['src']\n"}, {"types": "mypy"}),
        ({"mypy.ini": "[mypy]\npackages = a\n", "a.py": ""}, {"types": "mypy"}),
        ({"setup.cfg": "[mypy]\n"}, {"types": "mypy ."}),
        ({"pyrightconfig.json": "{}", "a.py": ""}, {"types": "pyright"}),
        ({"pyproject.toml": "[tool.mypy]\n[tool.pyright]\n"}, {"types": "mypy .", "types-pyright": "pyright"}),
        ({"pyproject.toml": "[project]\nname = 'a'\n", "tests/test_a.py": ""}, {}),
        ({"pyproject.toml": "not toml [", "setup.cfg": "neither\n["}, {}),
        ({"pyproject.toml": "tool = 3\n"}, {}),
        ({"sub/ruff.toml": "", "a.py": ""}, {}),
    ],
)
def test_python(files: dict[str, str], commands: dict[str, str]) -> None:
    assert found(files) == commands


@pytest.mark.parametrize(
    ("settings", "command"),
    [
        ("[test]\ncommand = '.venv/bin/python -m pytest -q'", ".venv/bin/ruff check ."),
        ("[test]\ncommand = 'A=1 .venv/bin/pytest'", ".venv/bin/ruff check ."),
        ("[test]\ncommand = 'uv run pytest'", "uv run ruff check ."),
        ("[workspace]\nsetup = 'python3 -m venv .venv && .venv/bin/pip install -e .'", ".venv/bin/ruff check ."),
        ("[test]\ncommand = 'python3 -m pytest'", "ruff check ."),
        ("[test]\ncommand = '\"$(x)/bin/python\" -m pytest'", "ruff check ."),
    ],
)
def test_linters_are_looked_for_where_the_tests_programs_are(settings: str, command: str) -> None:
    assert found({"ruff.toml": "", "a.py": ""}, settings) == {"lint": command}


@pytest.mark.parametrize(
    ("files", "commands"),
    [
        (
            scripts(lint="eslint .", typecheck="tsc", build="vite build"),
            {"lint": "npm run lint", "types": "npm run typecheck", "build": "npm run build"},
        ),
        (scripts(type_check="tsc --noEmit"), {"types": "npm run type-check"}),
        (scripts(types="tsc", typecheck="tsc -b"), {"types": "npm run typecheck"}),
        (scripts(typecheck="tsc --watch", types="tsc"), {"types": "npm run types"}),
        (scripts(lint=" ", build="echo no build specified"), {}),
        ({"package.json": TYPESCRIPT, "tsconfig.json": "{}"}, {"types": "node_modules/.bin/tsc --noEmit"}),
        (
            {"package.json": TYPESCRIPT, "tsconfig.json": '{"files": [], "references": []}'},
            {"types": "node_modules/.bin/tsc --build --noEmit"},
        ),
        ({"package.json": TYPESCRIPT}, {}),
        ({"package.json": "{}", "tsconfig.json": "{}"}, {}),
        ({"package.json": '{"scripts": {"agent:check": "x", "agent:visual": "y"}}'},
         {"agent:check": "npm run agent:check", "agent:visual": "npm run agent:visual"}),
        ({"package.json": "no json"}, {}),
        ({"package.json": "[1]"}, {}),
        ({"package.json": '{"scripts": {"lint": 3}}'}, {}),
        ({"package.json": "[" * 100_000}, {}),
    ],
)  # fmt: skip
def test_node(files: dict[str, str], commands: dict[str, str]) -> None:
    assert found(files) == commands


@pytest.mark.parametrize(
    ("files", "commands"),
    [
        ({"go.mod": "", "a.go": ""}, {"lint": "go vet ./...", "build": "go build ./..."}),
        (
            {"go.mod": "", ".golangci.yml": ""},
            {"lint": "go vet ./...", "build": "go build ./...", "lint-golangci": "golangci-lint run"},
        ),
        ({"tools/go.mod": "", "tools/a.go": ""}, {}),
        ({"Cargo.toml": "[package]\n"}, {"build": "cargo build"}),
        ({"Cargo.toml": "[package]\n[workspace]\nmembers = ['a']\n"}, {"build": "cargo build --workspace"}),
        (
            {"Cargo.toml": "[lints.clippy]\nall = 'deny'\n"},
            {"lint": "cargo clippy --all-targets -- -D warnings", "build": "cargo build"},
        ),
        (
            {"Cargo.toml": "", "clippy.toml": ""},
            {"lint": "cargo clippy --all-targets -- -D warnings", "build": "cargo build"},
        ),
    ],
)
def test_go_and_rust(files: dict[str, str], commands: dict[str, str]) -> None:
    assert found(files) == commands


def test_two_stacks_have_a_name_each() -> None:
    files = {"ruff.toml": "", "pyproject.toml": ""} | scripts(lint="eslint .")
    assert found(files) == {"lint": "ruff check .", "lint-npm": "npm run lint"}


def test_a_person_names_a_command_or_says_that_there_is_none() -> None:
    files = {"ruff.toml": "", "pyproject.toml": "[tool.mypy]\n", "setup.cfg": "[flake8]\n"}
    told = asked(files, "[gates.commands]\nlint = 'make lint'\ntypes = ' None '\nown = './own'\n")
    assert [(each.name, each.command, each.found) for each in told.commands] == [
        ("lint", "make lint", False),
        ("own", "./own", False),
    ]
    assert told.left_out() == ["types: damascus.toml says that there is none"]


def test_an_empty_line_names_nothing() -> None:
    """It would exit 0 by doing nothing."""
    assert found({"ruff.toml": "", "a.py": ""}, "[gates.commands]\nlint = ' '\nbuild = ''\n") == {
        "lint": "ruff check ."
    }


def test_what_a_script_runs_is_known() -> None:
    files = {
        "package.json": json.dumps(
            {
                "scripts": {
                    "agent:check": "npm run lint:js && run-s 'own:*' && npm run build",
                    "lint:js": "node tools/lint.js",
                    "prelint:js": "node tools/first.js",
                    "own:a": "npm run agent:check",
                    "other": "node other.js",
                    "build": "node build.js",
                }
            }
        )
    }
    found, built = asked(files).commands[::-1]
    assert set(found.runs) >= {"node tools/lint.js", "node tools/first.js", "npm run agent:check"}
    assert not any("other.js" in text or "build.js" in text for text in (*found.runs, *built.runs))
