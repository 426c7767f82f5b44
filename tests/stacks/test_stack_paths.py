"""Which paths are tests, which judge, and what a tree is written in."""

import pytest

from damascus import stacks


@pytest.mark.parametrize(
    "path",
    [
        "tests/test_a.py",
        "tests/data/x.json",
        "src/pkg/test_a.py",
        "pkg/a_test.py",
        "pkg/a_test.go",
        "web/a.test.tsx",
        "web/a.spec.js",
        "web/__tests__/a.js",
        "crate/tests/it.rs",
        "test/run.sh",
        "spec/a_spec.rb",
    ],
)
def test_a_test_by_folder_or_name(path: str) -> None:
    assert stacks.is_test(path)


@pytest.mark.parametrize("path", ["src/testing_ground.py", "src/contest.py", "latest/a.py", "a.go", "src/attest.ts"])
def test_code_is_no_test(path: str) -> None:
    assert not stacks.is_test(path)


def test_the_projects_patterns_make_further_tests() -> None:
    assert not stacks.is_test("checks/a.sh")
    assert stacks.is_test("checks/a.sh", ["checks/**"])


@pytest.mark.req("D7")
@pytest.mark.parametrize(
    "path",
    [
        "conftest.py",
        "tests/unit/conftest.py",
        "pytest.ini",
        "tox.ini",
        "setup.cfg",
        "pyproject.toml",
        "sitecustomize.py",
        "src/usercustomize.py",
        "src/x.pth",
        ".coveragerc",
        "noxfile.py",
        "pytest.py",
        "unittest/__init__.py",
        "__pycache__/src.cpython-311.pyc",
        "package.json",
        "web/jest.config.ts",
        "vitest.config.mts",
        ".mocharc.yml",
        "node_modules/.bin/jest",
        ".cargo/config.toml",
        ".pre-commit-config.yaml",
    ],
)
def test_a_judge_changes_how_tests_are_judged(path: str) -> None:
    assert stacks.is_judge(path)


@pytest.mark.parametrize("path", ["go.mod", "Cargo.toml", "src/app.py", "tests/test_a.py", "my_pytest_notes.md"])
def test_code_and_tests_are_no_judges(path: str) -> None:
    assert not stacks.is_judge(path)


def test_a_makefile_judges_only_where_make_runs_the_tests() -> None:
    assert not stacks.is_judge("Makefile", "pytest -q")
    assert stacks.is_judge("Makefile", "cd x && make test")


@pytest.mark.parametrize(
    ("listing", "names", "command"),
    [
        (["pyproject.toml", "src/a.py"], ["python"], "python3 -m pytest -q"),
        (["package.json", "vitest.config.ts"], ["node"], "npx vitest run"),
        (["package.json", "a.js"], ["node"], "npm test"),
        (["go.mod", "a.go"], ["go"], "go test -v ./..."),
        (["Cargo.toml", "src/lib.rs"], ["rust"], "cargo test"),
        (["Cargo.toml", "src/lib.rs", "tools/gen.py"], ["rust", "python"], "cargo test"),
        (["README.md"], [], None),
    ],
)
def test_detection_prefers_the_project_file_at_the_root(
    listing: list[str], names: list[str], command: str | None
) -> None:
    assert [stack.name for stack in stacks.detect(listing)] == names
    assert stacks.default_command(listing) == command
