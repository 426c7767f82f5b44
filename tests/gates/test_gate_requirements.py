"""Gate requirements: each REQ id is named by a test that was red and is green."""

from pathlib import Path

import pytest

from damascus.domain.spec import Requirement
from damascus.domain.verdict import Kind
from damascus.gates.requirements import Requirements, names_requirement
from tests.gates.judging import BASE, CODE, PYTEST, PYTHON, TEST, UNITTEST, Judging, verdicts


def source(head: str, body: str = "assert add(1, 2) == 3") -> dict[str, str]:
    return {"tests/test_add.py": f"import pytest\nfrom src import add\n\n{head}\n    {body}\n"}


@pytest.mark.req("D7")
@pytest.mark.parametrize(
    "head",
    [
        "def test_req_001_adds():",
        "def test_REQ_001():",
        '@pytest.mark.req("REQ-001")\ndef test_adds():',
        'def test_adds():\n    """Adds (req-001)."""',
        '@pytest.mark.parametrize("x", [1], ids=["REQ-001"])\ndef test_adds(x):',
    ],
)
def test_named_by_name_marker_or_docstring(tmp_path: Path, head: str) -> None:
    judging = Judging.of(tmp_path)
    result = judging.requirements(judging.candidate(CODE | source(head)), "REQ-001")
    assert (result.findings, result.unverified) == ([], [])


@pytest.mark.req("D7")
@pytest.mark.parametrize(
    "files",
    [
        source("def test_adds():"),
        source("def test_req_0011():"),
        source("def test_other(): assert add(1, 2)\n\n@pytest.mark.skip\ndef test_req_001():"),
        source("def test_other(): assert add(1, 2)\n\n@pytest.mark.xfail\ndef test_req_001():"),
        source("def test_other(): assert add(1, 2)\n\ndef test_req_001():", "pass"),
        source("def test_other(): assert add(1, 2)\n\n# REQ-001\ndef test_x():"),
        source("def test_req_001():", "add(1, 2)"),
        source("def test_req_001():", "total = add(1, 2)\n    total.bit_length()"),
        source("def test_req_001(tmp_path):", "for one in [1]:\n        print(int(add(one, 2)))"),
        source("def test_req_001():", "import src\n    with open(__file__) as file:\n        src.add(1, file)"),
    ],
    ids=[
        "not named",
        "another id",
        "skipped",
        "xfail",
        "empty",
        "comment",
        "only called",
        "its answer is used",
        "in a loop",
        "by its module",
    ],
)
def test_an_untested_requirement_is_named(tmp_path: Path, files: dict[str, str]) -> None:
    judging = Judging.of(tmp_path)
    result = judging.requirements(judging.candidate(CODE | files), "REQ-001")
    assert verdicts(result) == ["requirement_untested"]
    assert result.findings[0].requirements == ["REQ-001"]


@pytest.mark.req("D7")
@pytest.mark.parametrize(
    ("head", "body"),
    [
        ("def is_three(n):\n    assert n == 3\n\ndef test_req_001():", "is_three(add(1, 2))"),
        ("@pytest.fixture\ndef three():\n    def it(n):\n        assert n == 3\n    return it\n\n"
         "def test_req_001(three):", "three(add(1, 2))"),
        ("class TestAll:\n  def three(self, n):\n    assert n == 3\n\n  def test_req_001(self):",
         "self.three(add(1, 2))"),
        ("from helpers import three\n\ndef test_req_001():", "three(add(1, 2))"),
        ("import subprocess, sys\n\ndef test_req_001():",
         "subprocess.run([sys.executable, '-c', 'import src; assert src.add(1, 2) == 3'], check=True)"),
        ("def test_req_001():", "if add(1, 2) != 3:\n        raise ValueError"),
    ],
    ids=["helper", "fixture", "method", "another file's", "another process", "raises itself"],
)  # fmt: skip
def test_who_asks_through_somebody_else_proves_it(tmp_path: Path, head: str, body: str) -> None:
    judging = Judging.of(tmp_path, BASE | {"tests/helpers.py": "def three(n):\n    assert n == 3\n"})
    command = f"PYTHONPATH=tests:. {PYTEST}"
    result = judging.requirements(judging.candidate(CODE | source(head, body), command=command), "REQ-001")
    assert result.findings == []


@pytest.mark.req("D7")
def test_a_test_that_was_green_before_proves_nothing_new(tmp_path: Path) -> None:
    judging = Judging.of(tmp_path, BASE | {"tests/test_was.py": "def test_req_002():\n    assert len('a') == 1\n"})
    result = judging.requirements(judging.candidate(CODE | TEST), "REQ-001", "REQ-002")
    assert result.findings[0].requirements == ["REQ-002"]


@pytest.mark.req("D7")
@pytest.mark.parametrize("kind", [Kind.REFACTOR, Kind.DOCS])
def test_without_a_red_run_a_requirement_is_listed_and_refuses_nobody(tmp_path: Path, kind: Kind) -> None:
    """REQ-002 of this story is not that of the story whose test names it."""
    judging = Judging.of(tmp_path, BASE | {"tests/test_was.py": "def test_req_002():\n    assert len('a') == 1\n"})
    result = judging.requirements(judging.candidate({"src.py": "x = 1\n"}, kind=kind), "REQ-002", "REQ-003")
    assert result.findings == []
    assert result.unverified == [
        f"REQ-002: kind {kind.value} has no red run, and named by tests/test_was.py::test_req_002, "
        "which this story did not write",
        f"REQ-003: kind {kind.value} has no red run, and no test names it",
    ]
    assert "0 of 2" in result.evidence[0].summary
    own = judging.candidate({"tests/test_kept.py": "def test_req_002():\n    assert len('b') == 1\n"}, kind=kind)
    assert judging.requirements(own, "REQ-002").unverified == []


def test_a_spec_without_requirements_says_so(tmp_path: Path) -> None:
    judging = Judging.of(tmp_path)
    result = Requirements(judging.runner, judging.mirror).check(judging.candidate(CODE | TEST))
    assert result.findings == [] and result.unverified == ["requirements: the spec names none"]


def test_what_is_not_due_yet_is_listed(tmp_path: Path) -> None:
    judging = Judging.of(tmp_path)
    needs = (Requirement("REQ-009", "later", "FUTURE"),)
    result = Requirements(judging.runner, judging.mirror).check(judging.candidate(CODE | TEST, requirements=needs))
    assert result.findings == [] and result.unverified == ["REQ-009: tagged FUTURE"]


@pytest.mark.req("D7")
def test_unittest_proves_by_what_failed_before_and_no_skip_now(tmp_path: Path) -> None:
    unit = (
        "import unittest\nfrom src import add\n\n\nclass A(unittest.TestCase):\n"
        '    def test_adds(self):\n        """REQ-001"""\n        self.assertEqual(add(1, 2), 3)\n'
    )
    judging = Judging.of(tmp_path, {"README.md": "x"})
    candidate = judging.candidate(CODE | {"tests/test_add.py": unit}, command=UNITTEST)
    result = judging.requirements(candidate, "REQ-001", "REQ-002")
    assert result.unverified == [] and result.findings[0].requirements == ["REQ-002"]


@pytest.mark.req("D7")
def test_without_single_tests_the_text_is_looked_at_and_listed_as_unverified(tmp_path: Path) -> None:
    judging = Judging.of(tmp_path)
    script = {"tests/check.sh": "# REQ-001: adds\ngrep -q add src.py\n"}
    candidate = judging.candidate(CODE | script, command="sh tests/check.sh")
    result = judging.requirements(candidate, "REQ-001", "REQ-002")
    assert result.unverified == ["REQ-001: named in tests/check.sh, red to green by exit code only"]
    assert result.findings[0].requirements == ["REQ-002"]


def test_the_name_that_a_process_tells_is_not_believed(tmp_path: Path) -> None:
    """A plugin of the test's own could call any test REQ-001; the source does not."""
    files = source("def test_adds():") | {
        "tests/test_add.py": (
            "from src import add\n\ndef test_adds(record_xml_attribute):\n"
            "    record_xml_attribute('name', 'test_req_001')\n    assert add(1, 2) == 3\n"
        )
    }
    judging = Judging.of(tmp_path)
    assert verdicts(judging.requirements(judging.candidate(CODE | files), "REQ-001")) == ["requirement_untested"]


@pytest.mark.parametrize(
    ("text", "named"),
    [("REQ-001", True), ("test_req_001_x", True), ("TestREQ_001", True), ("REQ-0010", False), ("REQ001", False)],
)
def test_how_an_id_may_be_written(text: str, named: bool) -> None:
    assert names_requirement(text, "REQ-001") is named


def test_pytest_run_in_a_folder_below_finds_its_sources(tmp_path: Path) -> None:
    judging = Judging.of(tmp_path)
    files = {
        "back/src.py": CODE["src.py"],
        "back/pytest.ini": "[pytest]\n",
        "back/tests/test_add.py": TEST["tests/test_add.py"],
    }
    candidate = judging.candidate(
        files, command=f"cd back && {PYTHON} -m pytest -q", scope=("back/pytest.ini", "back/")
    )
    assert judging.requirements(candidate, "REQ-001").findings == []


SHARED = """\
import unittest

from src import add


class Checks:
    def test_req_001_adds(self):
        self.assertEqual(add(1, self.more), 1 + self.more)


class Two(Checks, unittest.TestCase):
    more = 2


class Further(Two):
    more = 7
"""


@pytest.mark.req("D7")
@pytest.mark.parametrize("command", [UNITTEST, f"{PYTHON} -m pytest -q -p no:cacheprovider tests"])
def test_a_test_that_a_class_inherits_in_its_file_names_what_it_proves(tmp_path: Path, command: str) -> None:
    """⚑ it is reported under the name of the class that runs it, which the source has nowhere."""
    judging = Judging.of(tmp_path)
    candidate = judging.candidate(CODE | {"tests/test_add.py": SHARED}, command=command)
    assert judging.requirements(candidate, "REQ-001").findings == []


EXAMPLE = 'def add(a, b):\n    """Adds (REQ-001).\n\n    >>> add(1, 2)\n    3\n    """\n    return a + b\n'


@pytest.mark.req("D7")
def test_an_example_in_a_docstring_names_what_stands_around_it(tmp_path: Path) -> None:
    judging = Judging.of(tmp_path, BASE | {"src.py": "def one():\n    return 1\n"})
    command = f"{PYTEST} --doctest-modules src.py"
    candidate = judging.candidate({"src.py": "def one():\n    return 1\n\n\n" + EXAMPLE}, command=command)
    result = judging.requirements(candidate, "REQ-001")
    assert result.findings == [] and [test.id for test in result.tests_of["REQ-001"]] == ["src.py::src.add"]

    silent = judging.candidate(
        {"src.py": "def one():\n    return 1\n\n\n" + EXAMPLE.replace(" (REQ-001)", "")}, command=command
    )
    assert verdicts(judging.requirements(silent, "REQ-001")) == ["requirement_untested"]


@pytest.mark.req("D7")
def test_one_test_for_all_of_them_is_listed(tmp_path: Path) -> None:
    judging = Judging.of(tmp_path)
    files = source('def test_adds():\n    """REQ-001, REQ-002 and REQ-003."""')
    result = judging.requirements(judging.candidate(CODE | files), "REQ-001", "REQ-002", "REQ-003")
    assert result.findings == []
    told = "one test alone proves REQ-001, REQ-002, REQ-003: tests/test_add.py::test_adds"
    assert result.unverified == [told]
