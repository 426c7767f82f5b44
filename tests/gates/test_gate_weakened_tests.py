"""Gate weakened_tests: each way to make a test judge less, and honest changes beside them."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from damascus.domain.ports import GateResult
from damascus.gates.weakened_tests import WeakenedTests
from tests.gates.judging import Judging, verdicts

OLD = (
    "import pytest\n\n\ndef test_one():\n    assert f() == 1\n\n\n"
    "class TestK:\n    def test_two(self):\n        assert f() == 2\n"
)
PATH = "tests/test_old.py"


def weakened(
    folder: Path, files: Mapping[str, str | None], base: dict[str, str] | None = None, **spec: object
) -> GateResult:
    judging = Judging.of(folder, base or {PATH: OLD, "README.md": "x"})
    return WeakenedTests().check(judging.candidate(files, **spec))  # type: ignore[arg-type]


@pytest.mark.req("D7")
@pytest.mark.parametrize(
    ("new", "test"),
    [
        (OLD.replace("test_one", "check_one"), "test_one"),
        (OLD.replace("def test_one():\n    assert f() == 1\n", ""), "test_one"),
        (OLD.replace("def test_one", "@pytest.mark.skip\ndef test_one"), "test_one"),
        (OLD.replace("def test_one", "@pytest.mark.xfail(reason='x')\ndef test_one"), "test_one"),
        (OLD.replace("    assert f() == 1", "    pytest.skip('x')\n    assert f() == 1"), "test_one"),
        (OLD.replace("    assert f() == 1", "    return\n    assert f() == 1"), "test_one"),
        (OLD.replace("    assert f() == 1", "    pass"), "test_one"),
        (OLD.replace("    assert f() == 1", "    f()"), "test_one"),
        (OLD.replace("    assert f() == 1", "    assert True"), "test_one"),
        (OLD.replace("assert f() == 1", "assert (f() == 1, 'one')"), "test_one"),
        (OLD.replace("assert f() == 1", "assert f() == f()"), "test_one"),
        (OLD.replace("def test_one():", "@pytest.mark.parametrize('x', [])\ndef test_one(x):"), "test_one"),
        (OLD + "\n\ndef test_one():\n    pass\n", "test_one"),
        (OLD + "\n\ntest_one = None\n", "test_one"),
        (OLD.replace("class TestK", "class Helper"), "TestK::test_two"),
        (OLD.replace("class TestK:", "class TestK:\n    __test__ = False"), "TestK::test_two"),
        (OLD.replace("class TestK:", "@pytest.mark.skip\nclass TestK:"), "TestK::test_two"),
    ],
)
def test_a_test_made_weaker_is_named(tmp_path: Path, new: str, test: str) -> None:
    result = weakened(tmp_path, {PATH: new})
    assert verdicts(result) == ["tests_weakened"]
    assert f"{PATH}::{test}" in result.findings[0].tests


@pytest.mark.req("D7")
@pytest.mark.parametrize(
    "new",
    [
        OLD + "\npytestmark = pytest.mark.skip\n",
        OLD.replace("import pytest\n", "import pytest\npytest.importorskip('nowhere')\n"),
        OLD + "\n@pytest.fixture(autouse=True)\ndef quiet():\n    pytest.skip('x')\n",
    ],
)
def test_a_whole_file_skipped_is_named(tmp_path: Path, new: str) -> None:
    assert weakened(tmp_path, {PATH: new}).findings[0].paths == [PATH]


@pytest.mark.req("D7")
def test_a_deleted_test_file_needs_the_specs_word(tmp_path: Path) -> None:
    assert verdicts(weakened(tmp_path / "1", {PATH: None})) == ["tests_weakened"]
    for n, entries in enumerate([(PATH,), ("tests/",), ("tests/*.py",), (f"{PATH}::test_one", f"{PATH}::test_two")]):
        assert weakened(tmp_path / f"may{n}", {PATH: None}, may_remove=entries).findings == []
    some = weakened(tmp_path / "2", {PATH: None}, may_remove=(f"{PATH}::test_one",))
    assert some.findings[0].tests == [f"{PATH}::TestK::test_two"]


@pytest.mark.req("D7")
@pytest.mark.parametrize(
    "path",
    [
        "conftest.py",
        "tests/conftest.py",
        "pytest.ini",
        "sitecustomize.py",
        "src/x.pth",
        "tox.ini",
        "pytest.py",
        "package.json",
    ],
)
def test_a_file_that_changes_the_verdict_needs_its_name_in_the_scope(tmp_path: Path, path: str) -> None:
    covered = weakened(tmp_path / "1", {path: "x = 1\n"}, scope=("**", "tests/"))
    assert verdicts(covered) == ["tests_weakened"] and covered.findings[0].paths == [path]
    assert weakened(tmp_path / "2", {path: "x = 1\n"}, scope=(path,)).findings == []


@pytest.mark.req("D7")
def test_a_script_that_a_judging_command_names_is_a_judge(tmp_path: Path) -> None:
    base = {"ci/all.sh": "exit 1\n", "Makefile": "test:\n\tfalse\n", "lint.py": "x\n", "README.md": "x"}
    for n, (path, command, config) in enumerate(
        [
            ("ci/all.sh", "sh ci/all.sh", ""),
            ("Makefile", "make test", ""),
            ("lint.py", "pytest", '[gates.commands]\nlint = "python ./lint.py"'),
        ]
    ):
        result = weakened(tmp_path / str(n), {path: "exit 0\n"}, base, command=command, config=config, scope=("**",))
        assert result.findings[0].paths == [path]


@pytest.mark.parametrize(
    "files",
    [
        {PATH: OLD + "\n\ndef test_three():\n    assert f() == 3\n"},
        {PATH: OLD.replace("== 1", "== 11")},
        {PATH: OLD.replace("test_one", "test_uno")},
        {PATH: None, "tests/unit/test_moved.py": OLD},
        {PATH: OLD, "tests/test_new.py": "import pytest\n@pytest.mark.skip\ndef test_x():\n    assert f()\n"},
        {"tests/__init__.py": ""},
        {"src.py": "def skip(): pass\n"},
    ],
    ids=["added", "changed", "renamed", "moved", "new and skipped", "package", "code"],
)
def test_honest_changes_pass(tmp_path: Path, files: dict[str, str | None]) -> None:
    assert weakened(tmp_path, files).findings == []


def test_a_helper_that_skips_what_imports_it_is_seen(tmp_path: Path) -> None:
    result = weakened(tmp_path, {"tests/__init__.py": "import unittest\nraise unittest.SkipTest('x')\n"})
    assert verdicts(result) == ["tests_weakened"]


@pytest.mark.parametrize(
    ("path", "old", "new"),
    [
        ("tests/run.sh", "test -f a\n", None),
        ("tests/run.sh", "test -f a\n", "# nothing\n"),
        ("a.test.js", "test('a', () => { expect(f()).toBe(1) })\n", "test.skip('a', () => { expect(f()).toBe(1) })\n"),
        ("a.test.js", "test('a', () => { expect(f()).toBe(1) })\n", "test('a', () => { })\n"),
        ("a.test.js", "test('a', () => { expect(f()).toBe(1) })\n", "// test('a', () => { expect(1) })\n"),
        ("a_test.go", "func TestA(t *testing.T) { t.Fatal() }\n", "func TestA(t *testing.T) { t.Skip(); t.Fatal() }\n"),
        ("tests/a.rs", "#[test]\nfn a() { assert!(f()); }\n", "#[test]\n#[ignore]\nfn a() { assert!(f()); }\n"),
    ],
)
def test_other_languages_too(tmp_path: Path, path: str, old: str, new: str | None) -> None:
    result = weakened(tmp_path, {path: new}, {path: old, "README.md": "x"}, scope=("**",))
    assert verdicts(result) == ["tests_weakened"] and result.findings[0].paths == [path]
