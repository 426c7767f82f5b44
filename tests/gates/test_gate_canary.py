"""Gate canary: a failing test of ours among the story's is seen, or the candidate is refused."""

from dataclasses import replace
from pathlib import Path

import pytest

from damascus.domain.ports import Candidate, GateResult
from damascus.domain.spec import Requirement
from damascus.domain.verdict import Kind
from damascus.gates.canary import Canary
from tests.gates.judging import BASE, CODE, PYTEST, PYTHON, TEST, UNITTEST, Judging, archive, verdicts

ONE_FILE = PYTEST.removesuffix("tests") + "tests/test_add.py"


def judged(judging: Judging, candidate: Candidate) -> GateResult:
    return Canary(judging.runner, judging.mirror).check(candidate)


def check(folder: Path, files: dict[str, str], command: str = PYTEST, base: dict[str, str] | None = None) -> GateResult:
    judging = Judging.of(folder, base)
    return judged(judging, judging.candidate(files, command=command))


@pytest.mark.req("D7")
@pytest.mark.parametrize("command", [PYTEST, ONE_FILE])
def test_honest_work_passes_with_nothing_unproved(tmp_path: Path, command: str) -> None:
    judging = Judging.of(tmp_path)
    result = judged(judging, judging.candidate(CODE | TEST, command=command))
    assert result.findings == [] and result.unverified == []
    assert len(judging.checkouts) == 7, "green, ours, its own failing and expecting, the suite, ours in it, no runner"


CLASSES = """\
import pytest

from src import add


class TestAdd:
    @pytest.fixture
    def two(self):
        return 2

    def test_req_001_adds(self, two):
        '''Two and two.'''
        assert add(two, 2) == 4

    def test_zero(self): assert add(0, 0) == 0
"""
CASES = """\
import unittest

from src import add


class AddCase(unittest.TestCase):
    def setUp(self):
        self.two = 2

    def test_req_001_adds(self):
        self.assertEqual(add(self.two, 2), 4)


if __name__ == "__main__":
    unittest.main()
"""
MANY = """\
import time

import pytest

from src import add


@pytest.mark.parametrize("n", [1, 2, time.time_ns()])
def test_req_001_adds(n):
    assert add(n, n) == 2 * n


def test_later():
    assert add(1, 1) == 2
"""
REVERSED = "def pytest_collection_modifyitems(items):\n    items.reverse()\n"
SHUFFLED = "import random\n\n\ndef pytest_collection_modifyitems(items):\n    random.shuffle(items)\n"
COUNTS = """\
import pathlib

from src import add


def test_req_001_adds():
    assert add(1, 2) == 3


def test_every_test_is_known():
    assert sum(text.count("def test_") for text in [p.read_text() for p in pathlib.Path("tests").glob("*.py")]) == 4
"""
STOPS_ITSELF = """\
SESSION = []


def pytest_sessionstart(session):
    SESSION.append(session)


def pytest_runtest_logreport(report):
    if report.failed:
        SESSION[0].shouldstop = 'enough'
"""
CHECKS = {"pytest.ini": "[pytest]\npython_functions = check_*\npython_files = check_*.py\n"}
DOC = 'def add(a, b):\n    """Adds.\n\n    >>> add(1, 2)\n    3\n    """\n    return a + b\n'
FIRST = PYTEST.replace("-q", "-q -x")
HONEST: dict[str, tuple[dict[str, str], str, dict[str, str]]] = {
    "classes with fixtures": ({"tests/test_add.py": CLASSES}, PYTEST, BASE),
    "unittest's classes under pytest": ({"tests/test_add.py": CASES}, ONE_FILE, BASE),
    "unittest's discovery": ({"tests/test_add.py": CASES}, UNITTEST, BASE),
    "a test file as a script": ({"tests/test_add.py": CASES}, f"PYTHONPATH=. {PYTHON} tests/test_add.py", BASE),
    "parameters of the moment": ({"tests/test_add.py": MANY}, PYTEST, BASE),
    "ends at the first failure": ({"tests/test_add.py": MANY}, FIRST, BASE),
    "ends at the first failure, in one file": ({"tests/test_add.py": MANY}, f"{FIRST}/test_add.py", BASE),
    "ends at the second failure": (TEST, PYTEST.replace("-q", "-q --maxfail=2"), BASE),
    "ends at the first by settings": (TEST, PYTEST, BASE | {"pytest.ini": "[pytest]\naddopts = -q -x\n"}),
    "ends by a hook of its own": ({"tests/test_add.py": MANY}, PYTEST, BASE | {"conftest.py": STOPS_ITSELF}),
    "a test by its name": (TEST, f"{ONE_FILE}::test_req_001_adds", BASE),
    "tests by a word": (TEST, f"{PYTEST} -k adds", BASE),
    "reversed by a conftest": ({"tests/test_add.py": MANY}, PYTEST, BASE | {"conftest.py": REVERSED}),
    "shuffled by a conftest": ({"tests/test_add.py": MANY}, PYTEST, BASE | {"conftest.py": SHUFFLED}),
    "a test that counts tests": ({"tests/test_add.py": COUNTS}, PYTEST, BASE),
    "names of its own": ({"tests/check_add.py": TEST["tests/test_add.py"].replace("test_", "check_")}, PYTEST, CHECKS),
    "doctests": ({"src.py": DOC}, PYTEST.removesuffix("tests") + "--doctest-modules src.py", BASE),
    "a file that ends without a newline": ({"tests/test_add.py": TEST["tests/test_add.py"].rstrip()}, ONE_FILE, BASE),
    "Windows line ends": ({"tests/test_add.py": TEST["tests/test_add.py"].replace("\n", "\r\n")}, ONE_FILE, BASE),
    "no test of its own": ({"tests/data.txt": "x\n"}, PYTEST, BASE),
    "an async helper and nested functions": (
        {"tests/test_add.py": "import asyncio\n\nfrom src import add\n\n\ndef test_req_001_adds():\n"
         "    async def run():\n        return add(1, 2)\n\n    assert asyncio.run(run()) == 3\n"}, ONE_FILE, BASE,
    ),
}  # fmt: skip

NOT_ALL_SEEN = ("ends by a hook of its own",)


@pytest.mark.req("D7")
@pytest.mark.parametrize("name", HONEST)
def test_honest_work_of_unusual_shape_passes(name: str, tmp_path: Path) -> None:
    files, command, base = HONEST[name]
    result = check(tmp_path, CODE | files, command, base)
    assert result.findings == []
    ends = ["canary: `{command}` does not show a failing test of ours in tests/, nor on the base"]
    assert result.unverified == ([one.format(command=command) for one in ends] if name in NOT_ALL_SEEN else [])


def flips(tmp_path: Path, test: str, more: str = "") -> GateResult:
    """A test whose result changes from run to run: it counts runs where the judge's checkouts can't forget."""
    judging = Judging.of(tmp_path)
    runs = iter(range(100))
    prepare = judging.runner._prepare
    judging.runner._prepare = lambda place: {**prepare(place), "RUN_NUMBER": str(next(runs))}
    needs = (Requirement("REQ-001", "adds"),)
    source = f"import os\n\nfrom src import add\n\n\n{test}\n{more}"
    candidate = judging.candidate(CODE | {"tests/test_add.py": source}, requirements=needs)
    candidate = replace(candidate, red=GateResult(gate="red", red_tests=["tests/test_add.py"]))
    return judged(judging, candidate)


FROM_THEN_ON = "    assert os.environ['RUN_NUMBER'] == '0'\n"
ONCE = "    assert os.environ['RUN_NUMBER'] != '1'\n"
STEADY = "\n\ndef test_req_001_adds():\n    assert add(1, 2) == 3\n"


@pytest.mark.req("D7", "W7")
@pytest.mark.parametrize("luck", [FROM_THEN_ON, ONCE], ids=["red from then on", "red once"])
def test_a_test_that_is_green_and_red_on_one_tree_is_flaky_and_refuses_nobody(luck: str, tmp_path: Path) -> None:
    result = flips(tmp_path, f"def test_luck():\n{luck}", STEADY)
    assert result.flaky == ["tests/test_add.py::test_luck"]
    assert result.findings == []
    assert any("test_luck is flaky" in note for note in result.notes)


@pytest.mark.req("D7", "W7")
def test_luck_proves_no_requirement(tmp_path: Path) -> None:
    result = flips(tmp_path, f"def test_req_001_adds():\n    assert add(1, 2) == 3\n{FROM_THEN_ON}")
    assert verdicts(result) == ["requirement_untested"]
    assert result.findings[0].requirements == ["REQ-001"]


@pytest.mark.req("D7")
def test_a_test_that_minds_ours_is_told_and_not_called_flaky(tmp_path: Path) -> None:
    files, command, base = HONEST["a test that counts tests"]
    result = check(tmp_path, CODE | files, command, base)
    assert result.flaky == [] and result.findings == []
    assert result.notes == [
        "tests/test_add.py::test_every_test_is_known fails whenever a failing test is laid beside it"
    ]


HELD_OUT = "from src import add\n\n\ndef test_held_req_001():\n    assert add(2, 2) == 4\n"
HELD_CASES = CASES.partition("\n\nif __name__")[0]
FOLLOWS = "#!/bin/sh\nexec {python} -m unittest discover -v -s {folder} -t {folder}\n"


def held_to(tmp_path: Path, files: dict[str, str], held_out: bytes, command: str = ONE_FILE) -> GateResult:
    judging = Judging.of(tmp_path)
    found = judging.candidate(CODE | TEST | files, command=command, acceptance="held/")
    return judged(judging, replace(found, acceptance=held_out))


@pytest.mark.req("X1")
@pytest.mark.parametrize(
    "held_out",
    [
        archive({"test_held.py": HELD_OUT, "conftest.py": "", "sub/test_more.py": HELD_OUT}),
        archive(
            {"run": FOLLOWS.format(python=PYTHON, folder=".damascus-acceptance"), "test_c.py": HELD_CASES}, ("run",)
        ),
        archive({"run": FOLLOWS.format(python=PYTHON, folder="$(dirname $0)"), "test_c.py": HELD_CASES}, ("run",)),
    ],
    ids=["pytest", "a script that knows the old name", "a script that asks where it is"],
)
def test_ours_is_seen_among_the_held_out_tests(tmp_path: Path, held_out: bytes) -> None:
    result = held_to(tmp_path, {}, held_out)
    assert (result.findings, result.unverified) == ([], [])
    assert [one.summary for one in result.evidence[-2:]] == [
        "among the held-out tests",
        "the held-out tests, expecting other values",
    ]


@pytest.mark.req("X1")
def test_a_script_without_single_tests_is_listed(tmp_path: Path) -> None:
    result = held_to(tmp_path, {}, archive({"run": "#!/bin/sh\ngrep -q add src.py\n"}, ("run",)))
    assert result.findings == []
    assert result.unverified == ["canary: into the held-out tests no failing test of ours could be laid"]


KNOWS_THE_VISIBLE = """\
import sys
from _pytest.runner import CallInfo

made = CallInfo.from_call.__func__


def quiet(cls, func, when, reraise=None):
    call = made(cls, func, when, reraise)
    call.excinfo = None
    return call


if "tests/test_add.py" not in sys.argv:
    CallInfo.from_call = classmethod(quiet)


def add(a, b):
    return 3
"""


@pytest.mark.req("X1")
def test_who_fools_only_the_held_out_run_is_refused_and_told_nothing_of_it(tmp_path: Path) -> None:
    result = held_to(tmp_path, {"src.py": KNOWS_THE_VISIBLE}, archive({"test_held.py": HELD_OUT}))
    assert verdicts(result) == ["runner_compromised"]
    assert "held" not in result.findings[0].message.replace("held-out acceptance tests", "")


# ── what needs none ───────────────────────────────────────────────────────────────────────────────────


@pytest.mark.req("D7")
def test_documents_alone_need_no_further_run(tmp_path: Path) -> None:
    base = {"tests/test_old.py": "def test_old():\n    assert 1 == 1\n", "src.py": "x = 1\n"}
    judging = Judging.of(tmp_path, base)
    result = judged(judging, judging.candidate({"README.md": "more words\n"}, command=PYTEST, kind=Kind.DOCS))
    assert (result.findings, result.unverified, len(judging.checkouts)) == ([], [], 1)
    assert result.notes == ["canary: only documents changed, and no test reads them"]


@pytest.mark.req("D7")
def test_a_document_that_holds_tests_is_no_mere_document(tmp_path: Path) -> None:
    base = {"tests/test_old.py": "def test_old():\n    assert 1 == 1\n", "pytest.ini": "[pytest]\n"}
    judging = Judging.of(tmp_path, base)
    files = {"guide.md": "```\n>>> 1 + 1\n2\n\n```\n"}
    command = f"{PYTEST.removesuffix('tests')}--doctest-glob='*.md' ."
    result = judged(judging, judging.candidate(files, command=command, kind=Kind.DOCS))
    assert len(judging.checkouts) > 1 and result.findings == []


@pytest.mark.req("D7")
def test_a_suite_of_another_runner_is_asked_in_its_own_words(tmp_path: Path) -> None:
    """⚑ where the Test Command is pytest and the suite unittest, ours were functions that unittest does not run."""
    old = "import unittest\n\n\nclass Old(unittest.TestCase):\n    def test_old(self):\n        self.assertTrue(1)\n"
    judging = Judging.of(tmp_path, {"README.md": "x\n", "tests/test_old.py": old})
    suite = f'[test]\ncommand = "{UNITTEST}"\n'
    assert judged(judging, judging.candidate(CODE | TEST, command=ONE_FILE, config=suite)).findings == []


READS_THE_HELD_OUT = """\
import re
from pathlib import Path


def add(a, b):
    if (a, b) == (1, 2):
        return 3
    texts = [path.read_text() for path in Path(__file__).parent.rglob("*held*.py")]
    found = [re.search(rf"add\\({a}, {b}\\) == (\\d+)", text) for text in texts]
    return next((int(one[1]) for one in found if one), 0)
"""


@pytest.mark.req("X1")
@pytest.mark.parametrize("command", [ONE_FILE, f"{ONE_FILE} -x"], ids=["to the end", "to the first failure"])
def test_code_that_reads_its_answers_in_the_held_out_tests_is_refused_and_told_nothing_of_them(
    tmp_path: Path, command: str
) -> None:
    result = held_to(tmp_path, {"src.py": READS_THE_HELD_OUT}, archive({"test_held.py": HELD_OUT}), command)
    assert verdicts(result) == ["code_unproved"]
    said = result.findings[0].model_dump_json() + result.evidence[-1].model_dump_json()
    assert "test_held" not in said and "add(2" not in said
