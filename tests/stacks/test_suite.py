"""Which command is the project's suite: what a person wrote, else what the files tell, else none."""

import pytest

from damascus.domain.config import parse_config
from damascus.stacks.suite import Suite, suite_of

pytestmark = pytest.mark.req("D6")

SCRIPT = '{"scripts": {"test": "node --test"}}'
PLACEHOLDER = '{"scripts": {"test": "echo \\"Error: no test specified\\" && exit 1"}}'


def found(files: dict[str, str], settings: str = "") -> Suite:
    test = parse_config(f"[test]\n{settings}").test
    return suite_of(test, list(files), lambda path: files[path].encode() if path in files else None)


def test_a_person_names_it_or_says_that_there_is_none() -> None:
    files = {"pyproject.toml": "", "tests/test_a.py": ""}
    assert found(files, "command = 'make check'") == Suite("make check")
    assert found(files, "command = 'none'") == Suite() == found(files, "command = ' None '")


@pytest.mark.parametrize(
    ("files", "command"),
    [
        ({"pyproject.toml": "", "tests/test_a.py": ""}, "python3 -m pytest -q"),
        ({"a.py": "", "a_test.py": ""}, "python3 -m pytest -q"),
        ({"package.json": SCRIPT, "a.test.js": ""}, "npm test"),
        ({"package.json": "{}", "vitest.config.ts": "", "src/a.spec.ts": ""}, "npx vitest run"),
        ({"go.mod": "", "a.go": "", "a_test.go": ""}, "go test"),
        ({"Cargo.toml": "", "src/lib.rs": "#[test]\nfn works() { assert!(true); }\n"}, "cargo test"),
        ({"Cargo.toml": "", "tests/it.rs": ""}, "cargo test"),
        (
            {"package.json": PLACEHOLDER, "a.test.js": "", "tool.py": "", "tests/test_tool.py": ""},
            "python3 -m pytest -q",
        ),
    ],
)
def test_found_from_the_files(files: dict[str, str], command: str) -> None:
    assert (suite := found(files)).found and suite.command.startswith(command)


@pytest.mark.parametrize(
    "files",
    [
        {},
        {"README.md": ""},
        {"pyproject.toml": "", "src/a.py": ""},
        {"a.py": "", "tests/__init__.py": "", "tests/conftest.py": "", "tests/data.json": ""},
        {"package.json": PLACEHOLDER, "a.test.js": ""},
        {"package.json": "{}", "a.test.js": ""},
        {"package.json": "[", "a.test.js": ""},
        {"package.json": '{"scripts": []}', "a.test.js": ""},
        {"Cargo.toml": "", "src/lib.rs": "pub fn one() {}\n"},
        {"go.mod": "", "main.go": ""},
    ],
)
def test_no_suite_without_tests(files: dict[str, str]) -> None:
    assert found(files) == Suite()


def test_a_second_language_is_named_as_left_out() -> None:
    suite = found({"pyproject.toml": "", "tests/test_a.py": "", "package.json": SCRIPT, "web/a.test.js": ""})
    assert suite.command == "python3 -m pytest -q" and suite.others == ("node",)
    assert suite.left_out() == ["suite: the tests in node are not part of `python3 -m pytest -q`"]
    assert suite.told("main").startswith("`python3 -m pytest -q` (found from main's files; the tests in node")
