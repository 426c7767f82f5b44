"""unittest is read test by test, by what its result objects are told in the process that runs it."""

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from damascus.domain.ports import GateResult, TestRun
from damascus.domain.spec import Requirement
from damascus.gates.canary import Canary
from damascus.gates.mutation import Mutation
from damascus.stacks.kit import Kit
from damascus.stacks.python.probe.reading import PythonProbe
from tests.gates.judging import PYTEST, PYTHON, Content, Judging, verdicts

BASE = {"README.md": "x\n", "tests/__init__.py": "", "Makefile": f"test:\n\t{PYTHON} -m unittest -v\n"}
CODE = "def price(cents):\n    return cents * 2\n"
HEAD = "import os\nimport sys\nimport unittest\n\nfrom shop import price\n\n\n"
TEST = HEAD + (
    "class Shop(unittest.TestCase):\n"
    "    def test_req_001_price(self):\n        self.assertEqual(price(2), 4)\n\n\n"
    "if __name__ == '__main__':\n    unittest.main()\n"
)
OWN = "tests/test_shop.py::Shop::test_req_001_price"
MODULE = f"{PYTHON} -m unittest tests.test_shop"
DISCOVER = f"{PYTHON} -m unittest discover -s tests -t ."
SCRIPT = f"{PYTHON} tests/test_shop.py"
INSERTED = "import sys\n\nsys.path.insert(0, '.')\n" + TEST
RUNS = (
    "import unittest\n\nsuite = unittest.defaultTestLoader.discover('tests', top_level_dir='.')\n"
    "unittest.TextTestRunner().run(suite)\n"
)
BARE = (
    "import unittest\n\nresult = unittest.TestResult()\n"
    "unittest.defaultTestLoader.discover('tests', top_level_dir='.').run(result)\nassert result.wasSuccessful()\n"
)
SILENT = (
    "import unittest\n\n\nclass Quiet(unittest.TextTestResult):\n"
    "    def addSuccess(self, test):\n        pass\n\n    def addFailure(self, test, err):\n"
    "        self.failures.append((test, ''))\n\n\n"
    "unittest.main(None, testRunner=unittest.TextTestRunner(resultclass=Quiet))\n"
)
DUCK = (
    "import unittest\n\n\nclass Duck:\n    shouldStop = False\n    _mirrorOutput = False\n"
    "    def startTest(self, test): pass\n    def stopTest(self, test): pass\n    def addSuccess(self, test): pass\n"
    "    def addError(self, test, err): raise SystemExit(1)\n    addFailure = addError\n\n\n"
    "unittest.defaultTestLoader.discover('tests', top_level_dir='.').run(Duck())\n"
)


def judged(folder: Path, files: dict[str, Content], command: str = MODULE) -> GateResult:
    judging = Judging.of(folder, BASE)
    work: dict[str, Content] = {"shop.py": CODE, "tests/test_shop.py": TEST, **files}
    return judging.tests(judging.candidate(work, command=command, scope=tuple(work)))


def told(folder: Path, files: dict[str, str], command: str = DISCOVER) -> TestRun:
    return Judging.of(folder, {"tests/__init__.py": "", "shop.py": CODE, **files}).run(command)


def states(run: TestRun) -> dict[str, str]:
    return {case.id: case.status for case in run.cases}


# ── each test by its name ─────────────────────────────────────────────────────────────────────────────


@pytest.mark.req("D7")
@pytest.mark.parametrize(
    ("command", "files"),
    [
        (MODULE, {}),
        (f"{MODULE}.Shop", {}),
        (f"{PYTHON} -m unittest tests/test_shop.py", {}),
        (f"{PYTHON} -m unittest", {}),
        (f"{PYTHON} -m unittest discover tests", {"tests/shop.py": CODE}),
        (DISCOVER, {}),
        ("make test", {}),
        (SCRIPT, {"tests/test_shop.py": INSERTED}),
        (f"{PYTHON} -m tests.test_shop", {}),
        (f"{PYTHON} run.py", {"run.py": RUNS}),
        (f"{PYTHON} run.py", {"run.py": BARE}),
        (f"{PYTHON} run.py", {"run.py": SILENT}),
        (f"{PYTHON} run.py", {"run.py": DUCK}),
    ],
    ids=["module", "class", "path", "nothing", "discover", "discover -s -t", "make", "a script", "-m", "a runner",
         "no runner", "a result of its own", "a result that is none"],
)  # fmt: skip
def test_each_test_is_known_as_pytest_knows_it(tmp_path: Path, command: str, files: dict[str, Content]) -> None:
    result = judged(tmp_path, files, command)
    assert result.findings == [] and result.unverified == []
    assert result.green_tests == [OWN]


EVERY = HEAD + (
    "class Every(unittest.TestCase):\n"
    "    def test_a(self): self.assertEqual(price(1), 2)\n"
    "    def test_b(self): self.assertEqual(price(1), 3)\n"
    "    def test_c(self): raise ValueError('odd')\n"
    "    @unittest.skip('later')\n    def test_d(self): pass\n"
    "    @unittest.expectedFailure\n    def test_e(self): self.fail()\n"
    "    @unittest.expectedFailure\n    def test_f(self): pass\n"
    "    def test_g(self):\n        for n in range(3):\n            with self.subTest(n=n): self.assertNotEqual(n, 1)\n"
    "    def test_h(self):\n        for n in range(3):\n            with self.subTest(n=n): self.assertLess(n, 3)\n"
    "class Later(unittest.IsolatedAsyncioTestCase):\n"
    "    async def test_i(self): self.assertEqual(price(1), 2)\n"
)


def test_every_state_is_told(tmp_path: Path) -> None:
    run = told(tmp_path, {"tests/test_every.py": EVERY})
    at = "tests/test_every.py::Every::test_"
    assert states(run) == {
        f"{at}a": "passed",
        f"{at}b": "failed",
        f"{at}c": "error",
        f"{at}d": "skipped",
        f"{at}e": "xfailed",
        f"{at}f": "failed",
        f"{at}g": "failed",
        f"{at}h": "passed",
        "tests/test_every.py::Later::test_i": "passed",
    }
    assert (run.passed, run.failed, run.skipped) == (3, 4, 2)
    messages = {case.id: case.message for case in run.cases}
    assert messages[f"{at}b"] == "AssertionError: 2 != 3" and messages[f"{at}d"] == "later"


def test_what_could_not_be_set_up_stands_for_its_tests(tmp_path: Path) -> None:
    one = "    def test_a(self): pass\n"
    files = {
        "tests/test_class.py": "import unittest\nclass A(unittest.TestCase):\n"
        f"    @classmethod\n    def setUpClass(cls): raise ValueError\n{one}"
        f"class B(unittest.TestCase):\n    @classmethod\n    def tearDownClass(cls): raise ValueError\n{one}"
        f"class C(unittest.TestCase):\n    @classmethod\n    def setUpClass(cls): raise unittest.SkipTest('x')\n{one}",
        "tests/test_module.py": "import unittest\ndef setUpModule(): raise ValueError\n"
        f"class A(unittest.TestCase):\n{one}",
        "tests/test_import.py": "import nowhere\n",
        "tests/test_syntax.py": "def test(:\n",
        "tests/test_skipped.py": "import unittest\nraise unittest.SkipTest('x')\n",
        "tests/test_load.py": "def load_tests(*_): raise ValueError\n",
    }
    assert states(told(tmp_path, files)) == {
        "tests/test_class.py::A::test_a": "error",
        "tests/test_class.py::B": "error",
        "tests/test_class.py::B::test_a": "passed",
        "tests/test_class.py::C::test_a": "skipped",
        "tests/test_module.py": "error",
        "tests/test_import.py": "error",
        "tests/test_syntax.py": "error",
        "tests/test_skipped.py": "skipped",
        "tests/test_load.py": "error",
    }


def test_a_module_that_is_named_and_can_not_be_imported_is_its_file(tmp_path: Path) -> None:
    """unittest calls it by its last part alone, and there are two."""
    files = {"tests/test_a.py": "import nowhere\n", "tests/sub/__init__.py": "", "tests/sub/test_a.py": "\n"}
    assert states(told(tmp_path, files, f"{PYTHON} -m unittest tests.test_a")) == {"tests/test_a.py": "error"}


def test_doctests_and_functions_have_a_file_too(tmp_path: Path) -> None:
    files = {
        "lib.py": 'def two():\n    """\n    >>> two()\n    2\n    """\n    return 2\n',
        "tests/test_doc.py": "import doctest, unittest\nimport lib\ndef check(): pass\n"
        "def load_tests(loader, tests, pattern):\n    tests.addTests(doctest.DocTestSuite(lib))\n"
        "    tests.addTest(unittest.FunctionTestCase(check))\n    return tests\n",
    }
    assert states(told(tmp_path, files)) == {"lib.py::lib.two": "passed", "tests/test_doc.py::check": "passed"}


# ── what lies ─────────────────────────────────────────────────────────────────────────────────────────

MORE = HEAD + (
    "class More(unittest.TestCase):\n    def test_more(self):\n        {}\n        self.assertTrue(price(1))\n"
)
SAYS = "sys.stderr.write('Ran 3 tests in 0.001s\\n\\nOK\\n')"
PATCHED = (
    "import unittest\nfor kind in (unittest.TestResult, unittest.TextTestResult):\n"
    "    kind.addFailure = kind.addError = lambda *a: None\n"
)
WRONG = "def price(cents):\n    return 5\n"
COUNTS = "def run(self, result=None): result.testsRun += 1"
TWO = TEST.replace("_001", "_002").replace("Shop", "Two").partition("if __name__")[0]
GOES = "\n\nload_tests = lambda loader, *_: loader.loadTestsFromTestCase(Shop)\n"
GOES_ON = TEST.replace("main()", "main(exit=False)").replace("4", "5")
TWO_ID = "tests/test_shop.py::Two::test_req_002_price"
LEFT_OUT = TEST.replace("if __name__", "def load_tests(loader, tests, pattern):\n    return {}\n\n\nif __name__")
FAKE = "import os, unittest\nclass Shop(unittest.TestCase):\n    def test_req_001_price(self): pass\n"
FIRST = (
    FAKE + "unittest.TextTestRunner().run(unittest.defaultTestLoader.loadTestsFromTestCase(Shop))\nos._exit(0)\n"
    "from shop import price\n"
)


@pytest.mark.req("D7")
@pytest.mark.parametrize(
    ("files", "command", "found"),
    [
        ({"tests/test_more.py": MORE.format("os._exit(0)")}, DISCOVER, "left no report"),
        ({"tests/test_more.py": MORE.format(SAYS + "; sys.stderr.flush(); os._exit(0)")}, DISCOVER, "left no report"),
        ({"tests/test_shop.py": "import os\nfrom shop import price\nos._exit(0)\n" + TEST}, MODULE, "left no report"),
        ({"tests/test_shop.py": "import sys\nfrom shop import price\nsys.exit(0)\n" + TEST}, MODULE, "left no report"),
        ({"tests/test_shop.py": FIRST}, MODULE, "left no report"),
        ({"tests/test_more.py": MORE.format("sys.exit(0)")}, DISCOVER, "1 failed, 1 passed"),
        ({"shop.py": WRONG + PATCHED}, MODULE, "1 failed, 0 passed"),
        ({"shop.py": WRONG + "import atexit, os\natexit.register(os._exit, 0)\n"}, MODULE, "1 failed, 0 passed"),
        ({"shop.py": WRONG + "import atexit, os\natexit.register(os._exit, 0)\n"}, f"{PYTHON} r.py", "exit 0"),
        ({"tests/test_shop.py": LEFT_OUT.format("unittest.TestSuite()")}, MODULE, "no test ran"),
        ({"tests/test_shop.py": TEST + TWO + GOES}, MODULE, f"not run: {TWO_ID}"),
        ({"tests/test_more.py": MORE.format("pass") + f"    {COUNTS}\n"}, DISCOVER, "not run: tests/test_more.py"),
        ({"tests/test_shop.py": TEST.replace("    def", f"    {COUNTS}\n\n    def", 1)}, MODULE, "no test ran"),
        ({"tests/test_more.py": "def test_more():\n    assert price(1)\n"}, DISCOVER, "not run: tests/test_more.py::"),
        ({"tests/sub/test_more.py": MORE.format("pass")}, DISCOVER, "not run: tests/sub/test_more.py::More::test_more"),
        ({"tests/test_shop.py": GOES_ON}, f"{PYTHON} -m tests.test_shop", "exit 0, tests 1 failed"),
    ],
    ids=["_exit in a test", "and prints", "_exit at import", "exit at import", "a run of its own at import",
         "exit in a test", "patched result", "exit code overridden", "and with a runner of its own", "load_tests: none",
         "load_tests: some", "run() that counts", "run() that counts alone", "a function", "a folder without __init__",
         "exit=False"],
)  # fmt: skip
def test_what_does_not_run_is_not_green(tmp_path: Path, files: dict[str, Content], command: str, found: str) -> None:
    result = judged(tmp_path, {"r.py": RUNS, **files}, command)
    assert verdicts(result) == ["tests_failed"] and found in result.findings[0].message, result.findings


def test_a_summary_that_says_less_than_the_report_counts(tmp_path: Path) -> None:
    """Whoever forges what we are told has unittest's own line against it."""
    lie = MORE.format("sys.stderr.write('Ran 1 test in 0.001s\\n\\nFAILED (failures=1)\\n')")
    result = judged(tmp_path, {"tests/test_more.py": lie}, DISCOVER)
    assert verdicts(result) == ["tests_failed"]


def test_a_run_that_is_cut_off_is_not_red(tmp_path: Path) -> None:
    judging = Judging.of(tmp_path, BASE)
    files: dict[str, Content] = {"shop.py": CODE, "tests/test_shop.py": "import os\nos._exit(1)\n" + TEST}
    result = judging.red(judging.candidate(files, command=MODULE, scope=tuple(files)))
    assert verdicts(result) == ["not_red"] and "to an end" in result.findings[0].message


def test_tests_that_the_command_does_not_load_are_listed(tmp_path: Path) -> None:
    result = judged(tmp_path, {"tests/test_more.py": MORE.format("pass")})
    assert result.findings == []
    assert result.unverified == ["tests/test_more.py: not run: More::test_more (the command does not select this file)"]


def test_a_run_of_its_own_that_tells_success_is_found_by_the_canary(tmp_path: Path) -> None:
    never = "result.startTest(self); result.addSuccess(self); result.stopTest(self)"
    judging = Judging.of(tmp_path, BASE)
    files: dict[str, Content] = {
        "shop.py": WRONG,
        "tests/test_shop.py": TEST.replace("    def", f"    def run(self, result):\n        {never}\n\n    def", 1),
    }
    candidate = judging.candidate(files, command=MODULE, scope=tuple(files))
    assert verdicts(Canary(judging.runner, judging.mirror).check(candidate)) == ["runner_compromised"]


def test_of_two_tests_of_one_name_the_later_one_is_told(tmp_path: Path) -> None:
    twice = "class A(unittest.TestCase):\n    def test_a(self): self.fail()\n    def test_a(self): pass\n"
    assert states(told(tmp_path, {"tests/test_a.py": HEAD + twice})) == {"tests/test_a.py::A::test_a": "passed"}


# ── what is honest ────────────────────────────────────────────────────────────────────────────────────

INNER = (
    "class More(unittest.TestCase):\n    def test_more(self):\n        class Inner(unittest.TestCase):\n"
    "            def test_inner(self): self.fail()\n"
    "        suite = unittest.defaultTestLoader.loadTestsFromTestCase(Inner)\n"
    "        result = unittest.TextTestRunner(stream=open(os.devnull, 'w')).run(suite)\n"
    "        self.assertFalse(result.wasSuccessful(), price)\n"
)
CHILD = (
    "import subprocess\nclass More(unittest.TestCase):\n    def test_more(self):\n"
    "        self.assertEqual(os.environ.get('RUNNER_REPORTS'), None)\n"
    "        for words in (['-m', 'unittest', 'tests.red'], ['-m', 'pytest', '-q', 'tests/red.py']):\n"
    "            done = subprocess.run([sys.executable, *words], capture_output=True)\n"
    "            self.assertEqual(done.returncode, 1, price)\n"
)
FORKS = (
    "import multiprocessing\ndef work(n): return price(n)\nclass More(unittest.TestCase):\n    def test_more(self):\n"
    "        for way in ('fork', 'spawn'):\n            with multiprocessing.get_context(way).Pool(2) as pool:\n"
    "                self.assertEqual(pool.map(work, [1, 2]), [2, 4])\n"
    "    def test_child(self):\n        child = os.fork()\n        if not child:\n            os._exit(price(0))\n"
    "        self.assertEqual(os.waitpid(child, 0)[1], 0)\n"
)
MIXED = (
    "class TestShared:\n    def test_shared(self): self.assertTrue(price(1))\n"
    "class More(TestShared, unittest.TestCase):\n    pass\n"
)
TABLE = (
    "import functools\ndef each(*values):\n    def made(function):\n        for value in values:\n"
    "            @functools.wraps(function)\n            def one(self, value=value): function(self, value)\n"
    "            one.__name__ = f'{function.__name__}_{value}'\n"
    "            sys._getframe(1).f_locals[one.__name__] = one\n    return made\n"
    "class More(unittest.TestCase):\n    @each(1, 2)\n    def test_more(self, value): self.assertTrue(price(value))\n"
)
MOCKED = (
    "from unittest.mock import patch\nclass More(unittest.TestCase):\n    def setUp(self):\n"
    "        for name in ('os.write', 'os.open', 'os.getpid', 'json.dumps', 'os.close'):\n"
    "            patch(name).start()\n    def tearDown(self): pass\n"
    "    def test_more(self): self.assertEqual(price(1), 2)\n    def test_other(self): self.assertEqual(price(2), 4)\n"
)
FIXTURES = (
    "def setUpModule(): os.chdir('/')\ndef tearDownModule(): pass\nclass More(unittest.TestCase):\n"
    "    @classmethod\n    def setUpClass(cls): cls.one = 1\n    def setUp(self): self.addCleanup(print, self.one)\n"
    "    def test_more(self): self.assertEqual(price(self.one), 2)\n"
)


@pytest.mark.parametrize(
    "text", [INNER, CHILD, FORKS, MIXED, TABLE, MOCKED, FIXTURES],
    ids=["a run inside", "children", "forks", "a mixin", "a table", "a mocked os", "fixtures"],
)  # fmt: skip
@pytest.mark.parametrize("command", [DISCOVER, f"{PYTHON} -m unittest tests.test_more tests.test_shop"])
def test_honest_ways_to_test_are_green(tmp_path: Path, text: str, command: str) -> None:
    red = "import unittest\nclass Red(unittest.TestCase):\n    def test_red(self): self.fail()\n"
    result = judged(tmp_path, {"tests/test_more.py": HEAD + text, "tests/red.py": red}, command)
    assert result.findings == [] and OWN in result.green_tests
    assert all(test.startswith(("tests/test_more.py::More::test_", OWN)) for test in result.green_tests)
    assert len(result.green_tests) > 1


def test_two_calls_in_one_command_are_added_up(tmp_path: Path) -> None:
    files = {"tests/test_a.py": EVERY, "tests/test_b.py": TEST}
    run = told(tmp_path, files, f"{PYTHON} -m unittest tests.test_b && {PYTHON} -m unittest tests.test_a")
    assert (run.passed, run.failed, len(run.calls)) == (4, 4, 2)


def test_pytest_stays_the_only_one_that_tells(tmp_path: Path) -> None:
    judging = Judging.of(tmp_path, {"shop.py": CODE, "tests/test_more.py": HEAD + INNER, "conftest.py": ""})
    run = judging.run(PYTEST)
    assert [call.runner for call in run.calls] == ["pytest"]
    assert states(run) == {"tests/test_more.py::More::test_more": "passed"}


@pytest.mark.parametrize("flag", ["-I", "-E", "-S"])
def test_a_python_that_does_not_load_us_is_counted_as_before(tmp_path: Path, flag: str) -> None:
    run = told(tmp_path, {"tests/test_shop.py": INSERTED}, f"{PYTHON} {flag} tests/test_shop.py")
    assert (run.green, run.passed, run.cases, run.calls) == (True, 1, [], [])


# ── the story's proof ─────────────────────────────────────────────────────────────────────────────────


@pytest.mark.req("D7")
@pytest.mark.parametrize("command", [MODULE, "make test"])
def test_requirements_mutants_and_canary_see_single_tests(tmp_path: Path, command: str) -> None:
    judging = Judging.of(tmp_path, BASE)
    files: dict[str, Content] = {"shop.py": CODE, "tests/test_shop.py": TEST}
    needs = (Requirement("REQ-001", "a price"),)
    found = judging.candidate(files, command=command, scope=tuple(files), requirements=needs)
    candidate = replace(found, red=judging.red(found))
    assert candidate.red is not None and candidate.red.red_tests == ["tests/test_shop.py"]
    mutation = Mutation(judging.runner).check(candidate)
    assert (mutation.findings, mutation.unverified) == ([], [])
    canary = Canary(judging.runner, judging.mirror).check(candidate)
    assert (canary.findings, canary.unverified) == ([], []) and len(canary.evidence) == 3


# ── how it gets there ─────────────────────────────────────────────────────────────────────────────────


def start(kit: Kit, folder: Path, code: str, env: dict[str, str]) -> str:
    (folder / "reports").mkdir(exist_ok=True)
    on = kit.switched_on({"PATH": os.environ["PATH"], **env}, folder / "reports", str(folder))
    return subprocess.run([sys.executable, "-c", code], env=on, capture_output=True, text=True, check=True).stdout


def test_every_other_sitecustomize_is_run_once(tmp_path: Path) -> None:
    """The project's own, behind the probe's, behind ours."""
    own = tmp_path / "own"
    own.mkdir()
    (own / "sitecustomize.py").write_text("print('own', __file__)\n")
    probe = PythonProbe()
    env = dict(probe.begin(tmp_path / "probe", str(tmp_path), {"PYTHONPATH": str(own)}))
    said = start(Kit.below(tmp_path / "kit"), tmp_path, "import sitecustomize; print(sitecustomize.__name__)", env)
    probe.end(tmp_path / "probe")
    assert said == f"own {own}/sitecustomize.py\nsitecustomize\n" and probe.seen.processes == 1


def test_nothing_is_loaded_where_unittest_is_not(tmp_path: Path) -> None:
    kit = Kit.below(tmp_path / "kit")
    look = "import sys; print(sorted(set(sys.modules) & {'json', 'unittest', 'importlib.util', 'typing', 're'}))"
    assert start(kit, tmp_path, look, {}) == start(Kit(tmp_path / "none"), tmp_path, look, {})
    assert "_Watch" not in start(kit, tmp_path, "import unittest.mock, sys; print(sys.meta_path)", {})
    assert list((tmp_path / "reports").iterdir()) == []
