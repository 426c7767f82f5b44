"""Gates red and tests: red before the code, green with it, by exit code and by count."""

from dataclasses import replace
from pathlib import Path

import pytest

from damascus.domain.ports import GateResult
from damascus.domain.verdict import Kind
from damascus.gates.tests import Tests as TestsGate
from tests.gates.judging import BASE, CODE, PYTEST, PYTHON, TEST, UNITTEST, Judging, verdicts

UNIT = {
    "tests/test_add.py": (
        "import unittest\nfrom src import add\n\n\nclass A(unittest.TestCase):\n"
        "    def test_req_001(self):\n        self.assertEqual(add(1, 2), 3)\n"
    )
}


@pytest.mark.req("D7")
def test_a_test_that_fails_without_the_code_and_passes_with_it(tmp_path: Path) -> None:
    judging = Judging.of(tmp_path)
    candidate = judging.candidate(CODE | TEST)
    red = judging.red(candidate)
    assert (red.findings, red.red_tests, red.unverified) == ([], ["tests/test_add.py"], [])
    green = TestsGate(judging.runner).check(replace(candidate, red=red))
    assert green.findings == []
    assert "tests/test_add.py::test_req_001_adds" in green.green_tests
    assert green.evidence[0].exit_code == 0 and green.evidence[0].tree == candidate.tree


@pytest.mark.req("D7")
def test_a_test_that_passes_without_the_code_is_not_red(tmp_path: Path) -> None:
    judging = Judging.of(tmp_path)
    result = judging.red(judging.candidate(CODE | {"tests/test_add.py": "def test_add():\n    assert len('a') == 1\n"}))
    assert verdicts(result) == ["not_red"]
    assert "pass without the code" in result.findings[0].message


@pytest.mark.req("D7")
def test_settings_that_are_the_storys_own_work_are_no_test(tmp_path: Path) -> None:
    """A version in pyproject.toml: the file judges, too, and would be laid over the base with the tests."""
    was = '[project]\nname = "a"\nversion = "1.0"\n'
    asks = "import tomllib\n\n\ndef test_req_001():\n    with open('pyproject.toml', 'rb') as file:\n"
    test = {"tests/test_version.py": f"{asks}        assert tomllib.load(file)['project']['version'] == '1.1'\n"}
    judging = Judging.of(tmp_path, BASE | {"pyproject.toml": was})
    scope = ("pyproject.toml", "tests/test_version.py")
    red = judging.red(judging.candidate({"pyproject.toml": was.replace("1.0", "1.1")} | test, scope=scope))
    assert (red.findings, red.red_tests) == ([], ["tests/test_version.py::test_req_001"])
    assert red.unverified == ["red run: red only without the story's own pyproject.toml, so that is its code"]

    hollow = {"tests/test_version.py": "def test_req_001():\n    assert len('a') == 1\n"}
    refused = judging.red(judging.candidate({"pyproject.toml": was.replace("1.0", "1.1")} | hollow, scope=scope))
    assert verdicts(refused) == ["not_red"]


@pytest.mark.req("D7")
def test_code_without_a_test_is_not_red(tmp_path: Path) -> None:
    judging = Judging.of(tmp_path)
    result = judging.red(judging.candidate(CODE))
    assert verdicts(result) == ["not_red"] and "no test was added" in result.findings[0].message


@pytest.mark.req("D7")
@pytest.mark.parametrize(
    ("command", "files"),
    [
        (f"{PYTHON} -m pytest -q tests/test_add.py", {}),
        (f"{PYTHON} -m pytest -q tests/none", {}),
        ("./missing.sh", {}),
        (f"{PYTHON} -m pytest -q --no-such-option", TEST),
        (f"{PYTHON} -m pytest -q tests; exit 1", {"tests/test_add.py": "def test_add():\n    assert len('a')\n"}),
        (f"{PYTHON} -m pytest -q tests", {"tests/test_add.py": "import os\nos._exit(1)\n"}),
        ("sh check.sh", {}),
    ],
    ids=["no file", "no folder", "no command", "usage error", "fails beside the tests", "cut off", "no test file"],
)
def test_a_failing_command_is_not_red_by_itself(tmp_path: Path, command: str, files: dict[str, str]) -> None:
    judging = Judging.of(tmp_path)
    assert verdicts(judging.red(judging.candidate(CODE | files, command=command))) == ["not_red"]


@pytest.mark.req("D7")
def test_a_red_run_that_hangs_is_not_red(tmp_path: Path) -> None:
    judging = Judging.of(tmp_path)
    result = judging.red(judging.candidate(CODE, command="sleep 600", config="[test]\ntimeout_seconds = 0.4"))
    assert verdicts(result) == ["not_red"] and "in time" in result.findings[0].message


@pytest.mark.req("D7")
def test_unittest_red_and_green(tmp_path: Path) -> None:
    judging = Judging.of(tmp_path)
    candidate = judging.candidate(CODE | UNIT, command=UNITTEST)
    red = judging.red(candidate)
    assert red.findings == [] and red.red_tests == ["tests/test_add.py"]
    assert TestsGate(judging.runner).check(replace(candidate, red=red)).findings == []


@pytest.mark.req("D7")
@pytest.mark.parametrize(
    "source",
    ["x = 1\n", "import unittest\nclass A(unittest.TestCase):\n    @unittest.skip('x')\n    def test_a(self): pass\n"],
    ids=["no tests", "all skipped"],
)
def test_unittest_that_ran_nothing_is_neither_red_nor_green(tmp_path: Path, source: str) -> None:
    """⚑ unittest exits 0 with no tests and with all skipped."""
    judging = Judging.of(tmp_path, {"README.md": "x"})
    candidate = judging.candidate(CODE | {"tests/test_add.py": source}, command=f"{UNITTEST}; exit 0")
    assert verdicts(judging.red(candidate)) == ["not_red"]
    result = TestsGate(judging.runner).check(candidate)
    assert verdicts(result) == ["tests_failed"] and "no test ran" in result.findings[0].message


@pytest.mark.req("D7")
def test_an_uncounted_command_is_judged_by_exit_code_and_says_so(tmp_path: Path) -> None:
    judging = Judging.of(tmp_path)
    script = {"tests/check.sh": "grep -q add src.py\n"}
    candidate = judging.candidate(CODE | script, command="sh tests/check.sh")
    red = judging.red(candidate)
    green = TestsGate(judging.runner).check(replace(candidate, red=red))
    assert red.findings == green.findings == []
    assert red.unverified == ["test count: `sh tests/check.sh` prints none; red and green by exit code only"]


def test_a_new_script_that_the_command_names_is_the_test(tmp_path: Path) -> None:
    judging = Judging.of(tmp_path)
    candidate = judging.candidate(CODE | {"check.sh": "grep -q add src.py\n"}, command="sh ./check.sh")
    assert judging.tests(candidate).findings == []


@pytest.mark.parametrize("kind", [Kind.REFACTOR, Kind.DOCS])
@pytest.mark.req("D7")
def test_a_refactor_needs_a_green_base_and_lists_the_missing_red_run(tmp_path: Path, kind: Kind) -> None:
    judging = Judging.of(tmp_path)
    candidate = judging.candidate({"src.py": "x = 1\n"}, kind=kind)
    result = judging.red(candidate)
    assert result.findings == [] and result.unverified == [f"red run (kind {kind.value})"]
    assert judging.tests(candidate).findings == []
    broken = Judging.of(tmp_path / "broken", {"tests/test_a.py": "def test_a():\n    assert len('')\n"})
    result = broken.red(broken.candidate({"src.py": "x = 1\n"}, kind=kind))
    assert verdicts(result) == ["tests_failed"] and "main itself" in result.findings[0].message


def green(folder: Path, files: dict[str, str], command: str = PYTEST, config: str = "") -> GateResult:
    judging = Judging.of(folder)
    return judging.tests(judging.candidate(files, command=command, config=config))


@pytest.mark.req("D7")
def test_a_failing_test_is_named_with_its_output(tmp_path: Path) -> None:
    result = green(tmp_path, TEST | {"src.py": "def add(a, b):\n    return 0\n"})
    assert verdicts(result) == ["tests_failed"]
    assert result.findings[0].tests == ["tests/test_add.py::test_req_001_adds"]
    assert "assert 0 == 3" in result.findings[0].output


@pytest.mark.req("D7", "T1")
@pytest.mark.parametrize(
    "body",
    ["raise ConnectionError('502 Bad Gateway, could not resolve host')", "time.sleep(600)"],
    ids=["prints an outage", "hangs"],
)
def test_what_a_test_prints_or_hangs_on_is_tests_failed(tmp_path: Path, body: str) -> None:
    source = TEST["tests/test_add.py"].replace("    assert", f"    import time\n    {body}\n    assert")
    result = green(tmp_path, CODE | {"tests/test_add.py": source}, config="[test]\ntimeout_seconds = 3.0")
    assert verdicts(result) == ["tests_failed"]


@pytest.mark.req("D7")
@pytest.mark.parametrize(
    "code",
    [
        "import os\nos._exit(0)\n",
        "import os\nprint('2 passed in 0.01s', flush=True)\nos._exit(0)\n",
        "import sys\nsys.exit(0)\n",
    ],
)
def test_code_that_ends_the_runner_with_exit_0_has_not_passed(tmp_path: Path, code: str) -> None:
    assert verdicts(green(tmp_path, TEST | {"src.py": code})) == ["tests_failed"]
    wrapped = Judging.of(tmp_path / "wrapped", BASE | {"all.sh": PYTEST + " -s\n"})
    candidate = wrapped.candidate(TEST | {"src.py": code}, command="sh all.sh")
    assert verdicts(wrapped.tests(candidate)) == ["tests_failed"]


@pytest.mark.req("D7")
def test_what_was_red_must_be_green_not_skipped(tmp_path: Path) -> None:
    """The test skips itself as soon as the code is there: the suite is green, and nothing is proved."""
    source = (
        "import pytest\n\ndef test_req_001():\n    import pathlib\n"
        "    if pathlib.Path('src.py').exists():\n        pytest.skip('x')\n    assert not len('x')\n"
    )
    assert verdicts(green(tmp_path, CODE | {"tests/test_add.py": source})) == ["not_red"]


@pytest.mark.req("D7")
def test_a_feature_whose_red_run_is_unknown_has_not_passed(tmp_path: Path) -> None:
    judging = Judging.of(tmp_path)
    assert verdicts(TestsGate(judging.runner).check(judging.candidate(CODE | TEST))) == ["not_red"]


def test_red_is_seen_on_the_base_with_the_candidates_tests_only(tmp_path: Path) -> None:
    """A second file of code, under a test's name or not, must not leak into the red run."""
    judging = Judging.of(tmp_path, BASE | {"src.py": "def add(a, b):\n    return 0\n"})
    red = judging.red(judging.candidate(CODE | TEST))
    assert red.findings == [] and red.red_tests == ["tests/test_add.py::test_req_001_adds"]


@pytest.mark.parametrize(
    ("command", "path", "run"),
    [
        ("sh ci/check.sh", "ci/check.sh", True),
        ("./ci/check.sh --fast", "ci/check.sh", True),
        ("A=1 python -u tools/check.py && true", "tools/check.py", True),
        ("true; ci/check.sh", "ci/check.sh", True),
        ("ruff check src/a.py", "src/a.py", False),
        ("pytest -q tests/test_a.py", "tests/test_a.py", False),
    ],
)
def test_a_file_that_a_command_looks_at_is_no_judge(command: str, path: str, run: bool) -> None:
    from damascus.evidence.diff_paths import executes

    assert executes(command, path) is run


@pytest.mark.req("D7")
def test_a_file_that_cannot_be_imported_hides_no_other_red_test(tmp_path: Path) -> None:
    """One test starts the program, another file imports what main lacks: both are red on main."""
    judging = Judging.of(tmp_path)
    starts = "subprocess.run([sys.executable, 'cli.py']).returncode"
    runs = f"import subprocess, sys\n\n\ndef test_req_001_runs():\n    assert {starts} == 0\n"
    files = {"cli.py": "print(1)\n", "other.py": "X = 1\n", "tests/test_cli.py": runs,
             "tests/test_other.py": "from other import X\n\n\ndef test_req_002():\n    assert X == 1\n"}  # fmt: skip
    candidate = judging.candidate(files)
    red = judging.red(candidate)
    assert sorted(red.red_tests) == ["tests/test_cli.py::test_req_001_runs", "tests/test_other.py"]
    assert judging.requirements(replace(candidate, red=red), "REQ-001", "REQ-002").findings == []


EXAMPLE = 'def add(a, b):\n    """REQ-001\n\n    >>> add(1, 2)\n    3\n    """\n    return a + b\n'


@pytest.mark.req("D7")
@pytest.mark.parametrize("base", [{}, {"src.py": "def one():\n    return 1\n"}], ids=["new", "there"])
def test_examples_in_a_source_that_the_command_names_are_red_without_the_code(
    tmp_path: Path, base: dict[str, str]
) -> None:
    """⚑ the file that is named was taken for a test, and laid over the base with its code."""
    judging = Judging.of(tmp_path, BASE | base)
    command = f"{PYTHON} -m pytest -q -p no:cacheprovider --doctest-modules src.py tests"
    candidate = judging.candidate({"src.py": "".join(base.values()) + EXAMPLE} | TEST, command=command)
    red = judging.red(candidate)
    assert red.findings == [] and "src.py::src.add" in red.red_tests
    assert judging.tests(candidate).findings == []
